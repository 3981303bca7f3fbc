// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "host/guarded_call.hpp"

#include <string>

namespace {

thread_local std::string last_error;

}  // namespace

heddle_status_t heddle::remember_error(heddle_status_t status, const char* message) noexcept {
  try {
    last_error = message;
  } catch (...) {
    last_error.clear();
  }
  return status;
}

const char* heddle_last_error(void) { return last_error.c_str(); }
