// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "bootstrap/bootstrap.hpp"

namespace heddle {

/// The collective calls on a heap, as HEDDLE_CHECK=1 compares them across PEs.
enum class heap_call : std::int64_t {
  malloc,
  calloc,
  align,
  realloc,
  free,
  register_buffer,
  unregister,
  topology
};

class call_checker {
 public:
  call_checker(bootstrap& bootstrap, bool enabled, std::chrono::duration<double> timeout)
      : bootstrap_(bootstrap), enabled_(enabled), timeout_(timeout) {}

  /// Throws HEDDLE_ERROR_MISMATCH, on every PE and before anything has changed, unless all PEs make
  /// the same call.
  void compare(heap_call call, std::uint64_t first, std::uint64_t second = 0);

 private:
  bootstrap& bootstrap_;
  bool enabled_;
  std::chrono::duration<double> timeout_;
  std::int64_t calls_ = 0;
};

}  // namespace heddle
