// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <heddle/heddle.hpp>

#include "host/team.hpp"

namespace heddle::testing {

/// What kernels of this PE look at to know of the team's end: see team_control.
inline std::uint64_t alarm_of(const runtime& self, const team& of) {
  const auto* twins = reinterpret_cast<const team_control*>(of.ref().heap());
  std::uint64_t word = 0;
  const auto stream = self.default_stream();
  stream.copy(&word, &twins[of.handle()->place()].abort_word, 1);
  stream.synchronize();
  return word;
}

}  // namespace heddle::testing
