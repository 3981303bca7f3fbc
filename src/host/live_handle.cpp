// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "host/live_handle.hpp"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_set>

namespace heddle {

namespace {

struct live_handles {
  std::mutex mutex;
  std::unordered_set<const live_handle*> all;
};

/// How many have been destroyed: what a thread has seen alive, is, as long as this is the same.
std::atomic<std::uint64_t> destroyed{0};

struct seen_alive {
  const live_handle* handle = nullptr;
  std::uint64_t destroyed = 0;
};
thread_local constinit seen_alive last;

live_handles& known() {
  static auto* only = new live_handles;  // never destroyed: owners may be, during exit
  return *only;
}

}  // namespace

live_handle::live_handle() {
  std::lock_guard lock(known().mutex);
  known().all.insert(this);
}

live_handle::~live_handle() {
  std::lock_guard lock(known().mutex);
  known().all.erase(this);
  destroyed.fetch_add(1, std::memory_order_release);
}

bool live_handle::is_alive(const live_handle* handle) {
  if (last.handle == handle && last.destroyed == destroyed.load(std::memory_order_acquire))
    return true;
  std::lock_guard lock(known().mutex);
  if (!known().all.contains(handle)) return false;
  last = {handle, destroyed.load(std::memory_order_relaxed)};
  return true;
}

}  // namespace heddle
