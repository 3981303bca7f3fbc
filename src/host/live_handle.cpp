// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "host/live_handle.hpp"

#include <mutex>
#include <unordered_set>

namespace heddle {

namespace {

struct live_handles {
  std::mutex mutex;
  std::unordered_set<const live_handle*> all;
};

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
}

bool live_handle::is_alive(const live_handle* handle) {
  std::lock_guard lock(known().mutex);
  return known().all.contains(handle);
}

}  // namespace heddle
