// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>

#include "support/throw_error.hpp"

namespace heddle {

/// What a C handle points to. It is known while it lives, so that a handle that outlived its object
/// is an error and no crash, as when an owner is destroyed after its runtime. The child of a fork
/// knows none of its parent's: owners that are destroyed there do not act as the parent's PE.
class live_handle {
 public:
  live_handle();
  ~live_handle();
  live_handle(const live_handle&) = delete;
  live_handle& operator=(const live_handle&) = delete;

  [[nodiscard]] static bool is_alive(const live_handle* handle);
  /// Says what is wrong with a handle that is not alive.
  [[noreturn]] static void throw_unknown(const void* handle, const char* function,
                                         const char* argument);
};

/// The object of a handle. The hot calls do without the look that this takes.
template <std::derived_from<live_handle> T>
T& required(T* handle, const char* function, const char* argument) {
  if (!handle) throw_error(HEDDLE_ERROR_INVALID_ARGUMENT, "{}: {} is NULL", function, argument);
  if (!live_handle::is_alive(handle)) live_handle::throw_unknown(handle, function, argument);
  return *handle;
}

}  // namespace heddle
