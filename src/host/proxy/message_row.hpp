// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <heddle/device/atomic.hpp>

namespace heddle {

/// When messages leave that nobody on this PE waits for, like those of a broadcast's root. To hand
/// one to a network may take longer than all else about it (8 us for TCP, whatever its few bytes):
/// the first ones of a row leave at once, after them several together, up to so many bytes.
///
/// What is held leaves with a later message or command, when a thread of this PE waits for
/// something, found at once or not, or by the proxy's thread. If that had to do it, the row was
/// over and its end came late, by up to a tick of that thread: from then on rows must be longer
/// before any message is held.
///
/// Called by any thread. Of two at a time one may not be counted: a message is held or not by that.
class message_row {
 public:
  using clock = std::chrono::steady_clock;
  /// A message that is posted so soon after the one before it is of the same row.
  static constexpr std::chrono::microseconds longest_gap{10};
  static constexpr int together = 16;
  static constexpr std::size_t most_bytes_together = std::size_t{32} << 10;
  static constexpr int fewest_at_once = 4;
  static constexpr int most_at_once = 1 << 14;

  enum class verdict {
    leaves,          ///< with all that are held
    leaves_as_last,  ///< of those at once: the proxy's thread is to look often from now on
    is_held
  };

  /// A message is there.
  [[nodiscard]] verdict add(clock::time_point now, std::size_t bytes) {
    if (has_ended(now)) over();
    const int row = row_.load(relaxed) + 1;
    const int at_once = at_once_.load(relaxed);
    row_.store(row, relaxed);
    if (row < at_once) return verdict::leaves;
    store(&is_long_, 1, relaxed);
    if (row == at_once) return verdict::leaves_as_last;
    const int held = load(&held_, relaxed) + 1;
    const std::size_t held_bytes = held_bytes_.load(relaxed) + bytes;
    const bool is_held = held < together && held_bytes < most_bytes_together;
    store(&held_, is_held ? held : 0, relaxed);
    held_bytes_.store(is_held ? held_bytes : 0, relaxed);
    if (is_held) return verdict::is_held;
    at_once_.store(std::max(at_once / 2, fewest_at_once), relaxed);
    return verdict::leaves;
  }
  /// It is held, or has left, which may have taken a while.
  void added(clock::time_point now) { last_.store(now, relaxed); }
  /// Somebody waits: the next message is the first of a row.
  void over() {
    if (row_.load(relaxed) == 0 && load(&is_long_, relaxed) == 0) return;
    row_.store(0, relaxed);
    store(&is_long_, 0, relaxed);
  }
  /// A thread of this PE has sent all.
  void sent() {
    if (!holds()) return;
    store(&held_, 0, relaxed);
    held_bytes_.store(0, relaxed);
  }
  /// The proxy's thread has, which began at `now`.
  void sent_by_proxy(clock::time_point now) {
    if (!holds()) return;
    sent();
    if (!has_ended(now)) return;
    over();
    at_once_.store(std::min(at_once_.load(relaxed) * 8, most_at_once), relaxed);
  }
  /// Whether messages are held, or will be as soon as they come.
  [[nodiscard]] bool may_hold() const { return holds() || load(&is_long_, relaxed) != 0; }
  /// How many are held: read and written as by load and store.
  [[nodiscard]] const std::int32_t* held() const { return &held_; }
  /// Not 0: the next message of the row is held, or takes with it what is.
  [[nodiscard]] const std::int32_t* is_long() const { return &is_long_; }

 private:
  [[nodiscard]] bool holds() const { return load(&held_, relaxed) > 0; }
  [[nodiscard]] bool has_ended(clock::time_point now) const {
    return now - last_.load(relaxed) > longest_gap;
  }

  std::atomic<clock::time_point> last_{};
  std::atomic<int> row_{0};  ///< messages of this one
  std::int32_t held_ = 0;
  std::atomic<std::size_t> held_bytes_{0};
  std::int32_t is_long_ = 0;
  std::atomic<int> at_once_{16};  ///< so many of a row leave at once
};

}  // namespace heddle
