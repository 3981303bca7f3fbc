// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>

namespace heddle {

/// When messages leave that nobody on this PE waits for, like those of a broadcast's root. To hand
/// one to a network may take longer than all else about it (8 us for TCP, whatever its few bytes):
/// the first ones of a row leave at once, after them several together.
///
/// What is held leaves with a later message, when a thread of this PE waits for something, or by
/// the proxy's thread. If that had to do it, the row was over and its end came late, by up to a
/// tick of that thread: from then on rows must be longer before any message is held.
///
/// Called by any thread. Of two at a time one may not be counted: a message is held or not by that.
class message_row {
 public:
  using clock = std::chrono::steady_clock;
  /// A message that is posted so soon after the one before it is of the same row.
  static constexpr std::chrono::microseconds longest_gap{10};
  static constexpr int together = 16;
  static constexpr int fewest_at_once = 4;
  static constexpr int most_at_once = 1 << 14;

  enum class verdict {
    leaves,          ///< with all that are held
    leaves_as_last,  ///< of those at once: the proxy's thread is to look often from now on
    is_held
  };

  /// A message is there.
  [[nodiscard]] verdict add(clock::time_point now) {
    if (has_ended(now)) over();
    const int row = row_.load(relaxed) + 1;
    const int at_once = at_once_.load(relaxed);
    row_.store(row, relaxed);
    if (row < at_once) return verdict::leaves;
    if (row == at_once) return verdict::leaves_as_last;
    const int held = held_.load(relaxed) + 1;
    held_.store(held < together ? held : 0, relaxed);
    if (held < together) return verdict::is_held;
    at_once_.store(std::max(at_once / 2, fewest_at_once), relaxed);
    return verdict::leaves;
  }
  /// It is held, or has left, which may have taken a while.
  void added(clock::time_point now) { last_.store(now, relaxed); }
  /// Somebody waits, and so sends all.
  void over() {
    if (row_.load(relaxed) == 0) return;
    row_.store(0, relaxed);
    held_.store(0, relaxed);
  }
  /// The proxy's thread has sent all.
  void sent_by_proxy(clock::time_point now) {
    if (held_.load(relaxed) == 0 || !has_ended(now)) return;
    over();
    at_once_.store(std::min(at_once_.load(relaxed) * 8, most_at_once), relaxed);
  }
  /// Whether messages are held, or will be as soon as they come.
  [[nodiscard]] bool may_hold() const { return row_.load(relaxed) >= at_once_.load(relaxed); }

 private:
  static constexpr auto relaxed = std::memory_order_relaxed;

  [[nodiscard]] bool has_ended(clock::time_point now) const {
    return now - last_.load(relaxed) > longest_gap;
  }

  std::atomic<clock::time_point> last_{};
  std::atomic<int> row_{0};  ///< messages of this one
  std::atomic<int> held_{0};
  std::atomic<int> at_once_{16};  ///< so many of a row leave at once
};

}  // namespace heddle
