// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace heddle {

/// A mutex for what most threads only try to lock, again and again: one indivisible step to lock
/// and one to unlock, both sequentially consistent. So who sets a flag, and finds it locked then,
/// may leave: who unlocks, and looks at the flag then, finds it set.
class drive_lock {
 public:
  [[nodiscard]] bool try_lock() { return is_held_.load() == 0 && is_held_.exchange(1) == 0; }
  void lock() {
    while (!try_lock()) is_held_.wait(1);
  }
  void unlock() {
    is_held_.store(0);
    is_held_.notify_one();
  }
  /// By whoever likes; old at once.
  [[nodiscard]] bool is_held() const { return is_held_.load(std::memory_order_relaxed) != 0; }

 private:
  std::atomic<int> is_held_{0};  ///< an int: what the kernel waits for without a detour
};

}  // namespace heddle
