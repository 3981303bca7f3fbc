// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/heddle.h>

#include <stdexcept>
#include <string>

namespace heddle {

/// What every failing call of the C++ API throws: the C status, and a message that says what was
/// asked, what was found and what to do.
class error : public std::runtime_error {
 public:
  error(heddle_status_t status, const std::string& message)
      : std::runtime_error(message), status_(status) {}

  [[nodiscard]] heddle_status_t status() const noexcept { return status_; }

 private:
  heddle_status_t status_;
};

}  // namespace heddle
