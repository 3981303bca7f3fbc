// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>

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

  [[nodiscard]] static bool is_alive(const live_handle* handle) {
    const bool is_as_before = last_seen_.handle == handle &&
                              last_seen_.destroyed == destroyed_.load(std::memory_order_acquire);
    return is_as_before || look_up(handle);
  }
  /// Says what is wrong with a handle that is not alive.
  [[noreturn]] static void throw_unknown(const void* handle, const char* function,
                                         const char* argument);

 private:
  struct sight {
    const live_handle* handle;
    std::uint64_t destroyed;  ///< destroyed_ at that time
  };
  struct registry;
  static registry& known();
  [[nodiscard]] static bool look_up(const live_handle* handle);

  /// How many have been destroyed: what a thread has seen alive, is, as long as this is the same.
  static constinit std::atomic<std::uint64_t> destroyed_;
  /// The last that this thread has seen alive. Found without a call, which would take half of the
  /// look: 16 bytes of the room that there is for libraries loaded later.
  [[gnu::tls_model("initial-exec")]] static constinit thread_local sight last_seen_;
};

/// The object of a handle.
template <std::derived_from<live_handle> T>
T& required(T* handle, const char* function, const char* argument) {
  if (!handle) throw_error(HEDDLE_ERROR_INVALID_ARGUMENT, "{}: {} is NULL", function, argument);
  if (!live_handle::is_alive(handle)) live_handle::throw_unknown(handle, function, argument);
  return *handle;
}

}  // namespace heddle
