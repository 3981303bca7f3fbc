// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/command_queue.hpp>

namespace heddle {

/// A PE's proxy as its kernels use it, in memory that they read quickly: one queue for each
/// context.
struct proxy_ref {
  static constexpr int max_contexts = 16;
  static constexpr int max_regions = 2;

  struct region {
    const byte* base;  ///< of this PE's
    uint64_t bytes;    ///< all that it may grow to
  };

  int32_t contexts;
  command_queue_ref queues[max_contexts];
  region regions[max_regions];
  /// Host threads that wait take over the proxy's work meanwhile: no other thread need be woken.
  void (*help)(void* proxy);
  /// Sees to it that a command is carried out before long.
  void (*notice)(void* proxy);
  void* proxy;

  /// The place of symmetric memory, given by this PE's address.
  HEDDLE_FN symmetric_place place_of(const void* symmetric) const {
    const auto* at = static_cast<const byte*>(symmetric);
    const auto offset = static_cast<uint64_t>(at - regions[0].base);
    if (offset < regions[0].bytes) return offset;
    return static_cast<uint64_t>(at - regions[1].base) | uint64_t{1} << place_region_shift;
  }
};

}  // namespace heddle
