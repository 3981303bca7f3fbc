// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "support/unique_fd.hpp"

namespace heddle::run {

/// One of heddle-run's own outputs, shared by several streams of lines: none is written into the
/// middle of another's line, and nobody who does not read it holds heddle-run up.
class shared_output {
 public:
  /// Of the standard output or error.
  explicit shared_output(int fd);

  [[nodiscard]] int fd() const { return again_ ? again_.get() : fd_; }
  /// Whether no stream but this one has a line half written.
  [[nodiscard]] bool is_free_for(const void* stream) const {
    return !in_line_ || in_line_ == stream;
  }
  /// Takes from the front of a stream's text, whose last line has an end, what can be written
  /// without blocking; all of it if nobody reads any more, or it cannot be written.
  void write_some(const void* stream, std::string& text);
  /// No stream is in the middle of a line any more: those that were are gone.
  void leave_line() { in_line_ = nullptr; }
  /// Why something could not be written, as errno; 0: all that somebody reads was.
  [[nodiscard]] int failure() const { return failure_; }
  /// Whether there is no reader any more.
  [[nodiscard]] bool is_unread() const { return unread_; }

 private:
  int fd_;
  unique_fd again_;  ///< the same pipe or terminal, opened not to block; empty if it cannot be
  int failure_ = 0;
  bool unread_ = false;
  const void* in_line_ = nullptr;  ///< the stream that is in the middle of a line
};

/// heddle-run's message of `text`, as a line.
std::string message(std::string_view text);

/// Whether both descriptors lead to one file, pipe or terminal.
bool same_file(int one, int other);

}  // namespace heddle::run
