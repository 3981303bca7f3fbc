// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace heddle::run {

/// Turns a stream into whole lines, each with a tag in front, so that the lines of several PEs can
/// share one output.
class line_tagger {
 public:
  explicit line_tagger(std::string tag) : tag_(std::move(tag)) {}

  /// The tagged lines that `data` completes. A line past 64 KiB is passed on in pieces.
  std::string feed(std::string_view data);
  /// What is left without an end of line, with one.
  std::string finish();

 private:
  std::string tag_;
  std::string line_;
};

}  // namespace heddle::run
