// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <string>

#include "line_tagger.hpp"
#include "shared_output.hpp"
#include "support/unique_fd.hpp"

namespace heddle::run {

/// A stream of a PE that is tagged on its way to one of heddle-run's own. No more is read until
/// what has been read is written.
class tagged_stream {
 public:
  /// Reads from `from`, a pipe.
  tagged_stream(unique_fd from, shared_output& to, line_tagger tagger)
      : from_(std::move(from)), to_(&to), tagger_(std::move(tagger)) {}
  /// Of text that has been read already, whose last line has an end.
  tagged_stream(std::string text, shared_output& to)
      : to_(&to), tagger_(""), pending_(std::move(text)) {}
  // Outputs remember a stream by its place.
  tagged_stream(const tagged_stream&) = delete;
  tagged_stream& operator=(const tagged_stream&) = delete;

  /// What to wait for before move_some().
  [[nodiscard]] pollfd wanted() const;
  /// Reads or writes a piece, without blocking.
  void move_some();
  /// If the output has no reader any more, neither has the stream: as without tags, the PE learns
  /// it from its next write.
  void drop_if_unread();
  /// Reads what is there now, and no more, if a process still holds the other end, as one that the
  /// PE left behind may. Whether one does.
  bool leave_holder();
  /// Whether all is written that will ever come.
  [[nodiscard]] bool is_done() const { return !from_ && pending_.empty(); }

 private:
  void read_some();

  unique_fd from_;  ///< empty when the PE has closed it
  shared_output* to_;
  line_tagger tagger_;
  std::string pending_;  ///< read, but not yet written
};

}  // namespace heddle::run
