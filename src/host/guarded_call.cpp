// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "host/guarded_call.hpp"

#include <string>

namespace {

/// A thread's owners of handles may be destroyed after this, as the process ends.
thread_local bool is_over = false;
struct message {
  ~message() { is_over = true; }
  std::string text;
};
thread_local message last_error;

}  // namespace

heddle_status_t heddle::remember_error(heddle_status_t status, const char* message) noexcept {
  if (is_over) return status;
  try {
    last_error.text = message;
  } catch (...) {
    last_error.text.clear();
  }
  return status;
}

const char* heddle_last_error(void) {
  return is_over ? "the thread that called is ending" : last_error.text.c_str();
}
