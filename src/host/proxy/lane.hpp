// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace heddle {

/// What has been posted and is not yet known to be done, in the order of posting.
class posted_operations {
 public:
  /// Its number, from 1.
  std::uint64_t post() {
    done_.push_back(false);
    return ++posted_;
  }
  /// `number`: what post() gave.
  void complete(std::uint64_t number) {
    done_[number - base_ - 1] = true;
    while (!done_.empty() && done_.front()) {
      done_.pop_front();
      ++base_;
    }
  }
  [[nodiscard]] std::uint64_t posted() const { return posted_; }
  /// All up to this number are done.
  [[nodiscard]] std::uint64_t done() const { return base_; }

 private:
  std::uint64_t base_ = 0;
  std::uint64_t posted_ = 0;
  std::deque<bool> done_;  ///< of those beyond base_
};

/// The writes of a peer that have arrived, which may overtake each other (message_order::counted).
class arrived_writes {
 public:
  static constexpr std::uint32_t window = 2048;  ///< a sender is never further ahead

  explicit arrived_writes(std::uint32_t first = 0) : prefix_(first) {}

  /// `number`: the lower bits of the write's number, from 1.
  void arrive(std::uint32_t number) {
    const std::uint32_t ahead = (number - prefix_ - 1) % (2 * window);
    if (ahead >= window) return;
    early_[(prefix_ + ahead) % window] = true;
    while (early_[prefix_ % window]) {
      early_[prefix_ % window] = false;
      ++prefix_;
    }
  }
  [[nodiscard]] std::uint32_t prefix() const { return prefix_; }

 private:
  std::uint32_t prefix_;
  std::array<bool, window> early_{};
};

/// One lane to one peer, both directions.
///
/// Frames are numbered and acknowledged, some at a time; a sender has at most `window` that are
/// not, so that no receiver is flooded. An acknowledgement says that the records have been carried
/// out. What is compared over long times is counted in 64 bits; frames carry the lower 32.
struct lane_state {
  static constexpr std::uint32_t window = 64;

  /// `first`: where both sides begin to count frames and writes.
  explicit lane_state(std::uint32_t first = 0)
      : frames_sent(first),
        frames_acknowledged(first),
        acknowledgement_asked(first),
        writes_sent(first),
        writes_flushed(first),
        writes_acknowledged(first),
        device_writes(first),
        frames_handled(first),
        frames_told(first),
        arrived(first) {}

  // As sender.
  std::span<std::byte> open{};  ///< the frame that is being filled; empty: none
  std::size_t used = 0;
  bool open_wants_acknowledgement = false;
  std::uint64_t open_after = 0;  ///< the lane's writes before the frame's last record
  std::uint64_t frames_sent;
  std::uint64_t frames_acknowledged;
  std::uint64_t acknowledgement_asked;  ///< the last frame that asked for one
  posted_operations writes;             ///< with completions, where those are waited for
  std::uint64_t writes_sent;            ///< all
  std::uint64_t writes_flushed;         ///< before the last frame that was sent
  std::uint64_t writes_acknowledged;
  std::array<std::uint64_t, window> writes_before{};  ///< a frame, by its number
  posted_operations reads;                            ///< and atomics of the network
  std::uint64_t answer_bytes = 0;  ///< that records of this PE have asked for and not got yet
  std::uint64_t fence_frames = 0;  ///< frames that a write waits for: those before the last fence
  std::uint64_t fence_writes = 0;
  std::uint64_t heeded_frame = 0;   ///< the last with a record that quiet waits for
  std::uint64_t heeded_writes = 0;  ///< the lane's, up to the last that quiet waits for
  /// All, up to the last to a device's memory, which the peer must flush.
  std::uint64_t device_writes;
  bool is_dirty = false;  ///< in its context's list: something quiet waits for

  // As receiver.
  std::uint32_t frames_handled;
  std::uint32_t frames_told;  ///< of those the sender knows
  arrived_writes arrived;
  std::deque<std::vector<std::byte>> held;  ///< frames that came before their writes or each other

  [[nodiscard]] std::uint64_t frames_in_flight() const { return frames_sent - frames_acknowledged; }
};

}  // namespace heddle
