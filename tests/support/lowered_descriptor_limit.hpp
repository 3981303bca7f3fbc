// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "support/unique_fd.hpp"

namespace heddle {

/// As long as it lives, this process gets no descriptor `more` or further above the lowest free
/// one.
class lowered_descriptor_limit {
 public:
  explicit lowered_descriptor_limit(int more) {
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
    const rlimit less{static_cast<rlim_t>(unique_fd(::dup(0)).get() + more), before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &less) == 0);
  }
  ~lowered_descriptor_limit() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  lowered_descriptor_limit(const lowered_descriptor_limit&) = delete;
  lowered_descriptor_limit& operator=(const lowered_descriptor_limit&) = delete;

 private:
  rlimit before_{};
};

}  // namespace heddle
