// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <heddle/error.hpp>
#include <string>

namespace heddle {

/// That `call` throws an error of that status, whose message has `part` in it.
inline void check_status(const std::function<void()>& call, heddle_status_t status,
                         const std::string& part) {
  try {
    call();
    FAIL_CHECK("no error, expected: " << part);
  } catch (const error& failure) {
    CAPTURE(std::string(failure.what()));
    CAPTURE(part);
    CHECK(failure.status() == status);
    CHECK(std::string(failure.what()).find(part) != std::string::npos);
  }
}

}  // namespace heddle
