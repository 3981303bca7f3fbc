// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace heddle::run {

/// One of heddle-run's own outputs, shared by several streams of lines: none is written into the
/// middle of another's line, and nobody who does not read it holds heddle-run up.
class shared_output {
 public:
  explicit shared_output(int fd) : fd_(fd) {}

  [[nodiscard]] int fd() const { return fd_; }
  /// Whether no stream but this one has a line half written.
  [[nodiscard]] bool is_free_for(const void* stream) const {
    return !in_line_ || in_line_ == stream;
  }
  /// Takes from the front of a stream's text, whose last line has an end, what can be written
  /// without blocking; all of it if nobody reads any more.
  void write_some(const void* stream, std::string& text);

 private:
  int fd_;
  const void* in_line_ = nullptr;  ///< the stream that is in the middle of a line
};

/// Whether both descriptors lead to one file, pipe or terminal.
bool same_file(int one, int other);

}  // namespace heddle::run
