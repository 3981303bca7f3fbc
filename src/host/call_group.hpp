// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/heddle.h>

#include <cstddef>
#include <vector>

#include "coll/transfer_list.hpp"

namespace heddle {

/// The sends and receives between heddle_group_begin and heddle_group_end, which run as one kernel
/// for each team and stream. Of a thread.
class call_group {
 public:
  static call_group& of_this_thread();
  call_group() = default;
  call_group(const call_group&) = delete;
  call_group& operator=(const call_group&) = delete;
  /// At the thread's end: warns of what was never started.
  ~call_group();

  [[nodiscard]] bool is_open() const { return depth_ > 0; }
  void begin() { ++depth_; }
  /// Launches what the outermost group has, all of it, then throws the first error if there was
  /// one.
  void end();
  /// Ends the innermost group; what the outermost has, and will have, is forgotten. As end, throws
  /// HEDDLE_ERROR_INVALID_USAGE if none is open.
  void cancel();
  /// The same of one PE's, which goes.
  void cancel(const heddle_runtime& runtime);
  void add(heddle_team& team, heddle_stream_t stream, bool is_send, void* memory, std::size_t bytes,
           int pe);
  /// Throws HEDDLE_ERROR_INVALID_USAGE if something of that PE is waiting for the group's end.
  void require_nothing_of(const heddle_runtime& runtime, const char* function) const;

 private:
  struct batch {
    heddle_team* team;  ///< which another thread may destroy before the group's end
    heddle_stream_t stream;
    transfer_list list;

    [[nodiscard]] bool is_of(const heddle_runtime& runtime) const;
  };
  static void require_one_stream(const std::vector<batch>& batches);

  int depth_ = 0;
  bool is_cancelled_ = false;  ///< what is open
  std::vector<batch> batches_;
};

}  // namespace heddle
