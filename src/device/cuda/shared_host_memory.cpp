// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/shared_host_memory.hpp"

#include <iterator>
#include <map>
#include <mutex>

#include "support/log.hpp"

namespace heddle::gpu {
namespace {

struct shared_range {
  std::size_t bytes;
  int users;
  std::shared_ptr<const gpu> device;  ///< in whose context it was registered
};

struct shared_ranges {
  std::mutex mutex;
  std::map<const std::byte*, shared_range> by_start;
  static shared_ranges& of_process() {
    // Never destroyed: a runtime may be, after it, by the program's own statics.
    static auto* const instance = new shared_ranges;
    return *instance;
  }
};

}  // namespace

void share_host_memory(const std::shared_ptr<const gpu>& device, void* start, std::size_t bytes) {
  auto& ranges = shared_ranges::of_process();
  const std::lock_guard lock(ranges.mutex);
  const auto* key = static_cast<const std::byte*>(start);
  if (const auto known = ranges.by_start.find(key); known != ranges.by_start.end()) {
    ++known->second.users;
    return;
  }
  const gpu::scope current(*device);
  const auto& driver = device->functions();
  check(driver,
        driver.mem_host_register(start, bytes,
                                 CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP),
        "sharing {} bytes of host memory with device cuda:{}; raise ulimit -l", bytes,
        device->ordinal());
  ranges.by_start.emplace(key, shared_range{bytes, 1, device});
}

void unshare_host_memory(void* start) noexcept {
  auto& ranges = shared_ranges::of_process();
  const std::lock_guard lock(ranges.mutex);
  const auto known = ranges.by_start.find(static_cast<const std::byte*>(start));
  if (known == ranges.by_start.end() || --known->second.users > 0) return;
  const auto device = known->second.device;
  ranges.by_start.erase(known);
  const gpu::quiet_scope current(*device);
  if (device->functions().mem_host_unregister(start) != CUDA_SUCCESS)
    log::warn(log::subsystem::device, "host memory at {} was not shared any more", start);
}

std::size_t whole_part(const void* at, std::size_t bytes) {
  auto& ranges = shared_ranges::of_process();
  const std::lock_guard lock(ranges.mutex);
  const auto* from = static_cast<const std::byte*>(at);
  const auto next = ranges.by_start.upper_bound(from);
  if (next != ranges.by_start.begin()) {
    const auto& [start, range] = *std::prev(next);
    if (from < start + range.bytes)
      return std::min(bytes, static_cast<std::size_t>(start + range.bytes - from));
  }
  return next == ranges.by_start.end()
             ? bytes
             : std::min(bytes, static_cast<std::size_t>(next->first - from));
}

}  // namespace heddle::gpu
