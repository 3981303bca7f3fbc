// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace perf {

/// Puts `text` where `path` says, all of it or nothing: it is written beside and renamed, so that a
/// file that was there stays until the new one is whole. What is no file, as a pipe, is written to.
/// Throws std::runtime_error that names the path.
void write_whole(const std::string& path, std::string_view text);

/// Throws if the standard output has not taken all that was printed: at the end.
void check_printed();

/// A check of an option that takes a file (CLI11): why it names none, or nothing.
inline std::string names_file(const std::string& text) {
  return text.empty() ? "names no file" : std::string();
}

/// Throws as write_whole would: before an hour of measuring, not after.
void check_writable(const std::string& path);

}  // namespace perf
