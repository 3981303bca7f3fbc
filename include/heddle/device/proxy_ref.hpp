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
  /// Sees to it that what was posted is carried out: at once, or before long.
  void (*serve)(void* proxy);
  void (*notice)(void* proxy);
  /// serve, for what nobody on this PE waits for: of many in a row several leave together.
  void (*serve_row)(void* proxy, size_t bytes);
  size_t most_in_row;          ///< bytes of a message, which a command carries in a long row
  const int32_t* held;         ///< messages of a row that have not left yet
  const int32_t* in_long_row;  ///< not 0: what follows soon leaves with others
  void* proxy;
  /// How many host threads wait, and drive meanwhile.
  uint32_t* drivers;
  /// A host thread that has waited long sleeps, for `ns` at most, until the network brings
  /// something.
  void (*nap)(void* proxy, uint64_t ns);
  /// Whoever drives has done so when this returns, and heeds from now on that a reply was given up.
  void (*settle)(void* proxy);

  /// The place of symmetric memory, given by this PE's address.
  HEDDLE_FN symmetric_place place_of(const void* symmetric) const {
    const auto* at = static_cast<const byte*>(symmetric);
    const auto offset = static_cast<uint64_t>(at - regions[0].base);
    if (offset < regions[0].bytes) return offset;
    return static_cast<uint64_t>(at - regions[1].base) | uint64_t{1} << place_region_shift;
  }
};

namespace detail {

/// For as long as it lives, this thread is one of the drivers.
class counted_driver {
 public:
#if HEDDLE_ON_CUDA
  HEDDLE_FN explicit counted_driver(const proxy_ref*) {}
#else
  explicit counted_driver(const proxy_ref* proxy) : drivers_(proxy ? proxy->drivers : nullptr) {
    if (drivers_) atomic_ref<uint32_t>(*drivers_).fetch_add(1, relaxed);
  }
  ~counted_driver() {
    if (drivers_) atomic_ref<uint32_t>(*drivers_).fetch_sub(1, relaxed);
  }
  counted_driver(const counted_driver&) = delete;
  counted_driver& operator=(const counted_driver&) = delete;

 private:
  uint32_t* drivers_;
#endif
};

}  // namespace detail

}  // namespace heddle
