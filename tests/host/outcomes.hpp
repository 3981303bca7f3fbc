// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>
#include <heddle/heddle.h>

#include <initializer_list>
#include <string>

#include "bootstrap/environment_variable.hpp"

namespace heddle::testing {

/// The status and the message of a C call.
struct outcome {
  heddle_status_t status;
  std::string text;
};
inline outcome of(heddle_status_t status) { return {status, status ? heddle_last_error() : ""}; }

inline void check_error(const outcome& got, heddle_status_t status,
                        std::initializer_list<const char*> parts) {
  CHECK(got.status == status);
  for (const char* part : parts) {
    CAPTURE(got.text);
    CHECK(got.text.find(part) != std::string::npos);
  }
}

using ::environment_variable;

}  // namespace heddle::testing
