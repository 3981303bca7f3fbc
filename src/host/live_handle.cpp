// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "host/live_handle.hpp"

#include <pthread.h>

#include <mutex>
#include <unordered_set>

#include "support/throw_error.hpp"

namespace heddle {

constinit std::atomic<std::uint64_t> live_handle::destroyed_{0};
// GCC goes by the definition where it sees both.
[[gnu::tls_model(
    "initial-exec")]] constinit thread_local live_handle::sight live_handle::last_seen_{};

namespace {

/// Whether this process is the child of a fork of one that had handles.
std::atomic<bool> forked{false};

}  // namespace

struct live_handle::registry {
  std::mutex mutex;
  std::unordered_set<const live_handle*> all;
};

// Its mutex is held across fork, so that the child finds it whole.
live_handle::registry& live_handle::known() {
  static auto* only = [] {
    auto* made = new registry;  // never destroyed: owners may be, during exit
    ::pthread_atfork([] { known().mutex.lock(); }, [] { known().mutex.unlock(); },
                     [] {
                       forked.store(true, std::memory_order_relaxed);
                       known().all.clear();
                       destroyed_.fetch_add(1, std::memory_order_relaxed);
                       known().mutex.unlock();
                     });
    return made;
  }();
  return *only;
}

live_handle::live_handle() {
  std::lock_guard lock(known().mutex);
  known().all.insert(this);
}

live_handle::~live_handle() {
  std::lock_guard lock(known().mutex);
  known().all.erase(this);
  destroyed_.fetch_add(1, std::memory_order_release);
}

bool live_handle::look_up(const live_handle* handle) {
  std::lock_guard lock(known().mutex);
  if (!known().all.contains(handle)) return false;
  last_seen_ = {handle, destroyed_.load(std::memory_order_relaxed)};
  return true;
}

void live_handle::throw_unknown(const void* handle, const char* function, const char* argument) {
  if (forked.load(std::memory_order_relaxed))
    throw_error(HEDDLE_ERROR_INVALID_USAGE,
                "{}: {} {} belongs to the process that forked this one, which is no PE; make a "
                "job of its own here (heddle_init_thread, heddle_init_unique_id)",
                function, argument, handle);
  throw_error(HEDDLE_ERROR_INVALID_USAGE,
              "{}: {} {} is no handle (any more): it was destroyed, or its runtime was finalized",
              function, argument, handle);
}

}  // namespace heddle
