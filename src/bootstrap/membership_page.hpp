// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "support/unique_fd.hpp"

namespace heddle {

/// A page that one rank writes and the other processes of its host read: whose it is, and whether
/// the rank has left the job in good order. It outlives its writer, so whoever sees the process end
/// can still tell a death from a departure.
class membership_page {
 public:
  using identity = std::array<std::byte, 16>;

  /// A page of this process.
  explicit membership_page(const identity& who);
  ~membership_page();
  membership_page(const membership_page&) = delete;
  membership_page& operator=(const membership_page&) = delete;

  /// The page that process `pid` holds as descriptor `fd`, null if it cannot be opened (another
  /// user, no /proc) or is not the page of `who`: then `pid` is not the process that `who` means.
  static std::unique_ptr<membership_page> open(int pid, int fd, const identity& who,
                                               std::string& problem);

  void mark_left();
  [[nodiscard]] bool has_left() const;
  [[nodiscard]] int fd() const { return memory_.get(); }

 private:
  struct content;
  membership_page() = default;

  unique_fd memory_;
  content* content_ = nullptr;
};

/// A handle of a running process that turns readable when it ends. Null if there is no such
/// process.
unique_fd open_process(int pid);

}  // namespace heddle
