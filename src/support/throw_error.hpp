// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <heddle/error.hpp>
#include <system_error>
#include <utility>

namespace heddle {

/// Throws heddle::error with a formatted message. The first function that decides which error it is
/// throws it; callers let it pass.
template <class... Args>
[[noreturn]] void throw_error(heddle_status_t status, fmt::format_string<Args...> format,
                              Args&&... args) {
  throw error(status, fmt::format(format, std::forward<Args>(args)...));
}

/// As throw_error with HEDDLE_ERROR_SYSTEM, ending in the text of `error_number` (an errno).
template <class... Args>
[[noreturn]] void throw_system_error(int error_number, fmt::format_string<Args...> format,
                                     Args&&... args) {
  throw error(HEDDLE_ERROR_SYSTEM, fmt::format(format, std::forward<Args>(args)...) + ": " +
                                       std::generic_category().message(error_number));
}

}  // namespace heddle
