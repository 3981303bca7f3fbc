// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace heddle {

/// A mutex whose holder can be asked to look again: a thread that finds it held leaves that word
/// and goes on, and the holder hears of it as it unlocks. Each is one indivisible step, so nobody's
/// word is lost: what came before it is seen by whoever hears it.
class drive_lock {
 public:
  [[nodiscard]] bool try_lock() {
    int seen = is_free;
    return state_.load(std::memory_order_relaxed) == seen &&
           state_.compare_exchange_strong(seen, is_held);
  }
  /// False: it is held, and the holder will hear of this.
  [[nodiscard]] bool try_lock_or_ask() {
    int seen = state_.load(std::memory_order_relaxed);
    while (!state_.compare_exchange_weak(seen, seen == is_free ? is_held : is_asked)) {
    }
    return seen == is_free;
  }
  /// Who waits asks, too.
  void lock() {
    while (!try_lock_or_ask()) state_.wait(is_asked);
  }
  /// Whether somebody has asked.
  [[nodiscard]] bool unlock() {
    if (state_.exchange(is_free) != is_asked) return false;
    state_.notify_all();
    return true;
  }
  /// By whoever likes; old at once.
  [[nodiscard]] bool is_locked() const { return state_.load(std::memory_order_relaxed) != is_free; }

 private:
  enum : int { is_free, is_held, is_asked };  // an int: what the kernel waits for without a detour
  std::atomic<int> state_{is_free};
};

}  // namespace heddle
