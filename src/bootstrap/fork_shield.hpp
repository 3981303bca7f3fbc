// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/unique_fd.hpp"

namespace heddle {

/// A descriptor that a forked child does not keep. CLOEXEC closes descriptors at exec alone; a
/// child that goes on without exec would hold its parent's connections open, and so hide the
/// parent's death from the peers. In such a child the number stays taken (it refers to /dev/null),
/// so that the copies of the parent's objects close nothing of somebody else's.
class shielded_fd {
 public:
  shielded_fd() = default;
  explicit shielded_fd(unique_fd fd);
  shielded_fd(shielded_fd&& other) noexcept = default;
  shielded_fd& operator=(shielded_fd&& other) noexcept;
  ~shielded_fd() { reset(); }

  [[nodiscard]] int get() const { return fd_.get(); }
  [[nodiscard]] explicit operator bool() const { return static_cast<bool>(fd_); }
  void reset();

 private:
  unique_fd fd_;
};

}  // namespace heddle
