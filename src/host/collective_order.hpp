// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "device/device.hpp"

namespace heddle {

/// Makes the collectives of a team run one after another, whatever their streams: each waits for
/// the one before, if that is on another stream.
///
/// What is captured into a graph runs when the graph does, so it is ordered within its capture
/// alone: a stream outside cannot wait for it, nor it for one outside. The program orders graphs as
/// it orders all its work, and launches them alike on all PEs.
class collective_order {
 public:
  explicit collective_order(exec::device& device) : device_(device) {}

  /// Runs `work(queue)`, which enqueues one collective.
  template <class Work>
  void enqueue(exec::stream& queue, Work& work) {
    const std::uint64_t capture = queue.capture();
    auto& last = capture ? captured(capture) : enqueued_;
    if (last.stream && last.stream != queue.serial()) queue.wait(last.end);
    work(queue);
    if (queue.is_immediate()) {
      last.stream = 0;
      return;
    }
    if (!last.end) last.end = device_.create_event(false);
    queue.record(last.end);
    last.stream = queue.serial();
  }
  /// Whether the last collective that was not captured may still be running.
  [[nodiscard]] bool is_pending() const { return enqueued_.stream != 0; }

 private:
  struct collective {
    std::uint64_t stream = 0;  ///< the serial of its stream; 0: it is complete
    std::shared_ptr<exec::event> end{};
  };
  /// Captures end unseen: the oldest are forgotten.
  collective& captured(std::uint64_t capture) {
    constexpr std::size_t open_at_one_time = 16;
    if (!captured_.contains(capture) && captured_.size() == open_at_one_time)
      captured_.erase(captured_.begin());
    return captured_[capture];
  }

  exec::device& device_;
  collective enqueued_;
  std::map<std::uint64_t, collective> captured_;  ///< by capture, whose numbers grow
};

}  // namespace heddle
