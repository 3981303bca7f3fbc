// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>

#include "support/unique_fd.hpp"

namespace heddle::run {

/// A folder for the PMIx server's files, and a small process that removes it, and ends what PEs are
/// left, should heddle-run itself be killed: it waits for the end of a pipe that only heddle-run
/// holds.
class janitor {
 public:
  /// Makes the folder and forks; before any thread is started.
  janitor();
  /// Removes the folder and dismisses the process.
  ~janitor();
  janitor(const janitor&) = delete;
  janitor& operator=(const janitor&) = delete;

  [[nodiscard]] const std::string& folder() const { return folder_; }
  /// The process group is to be ended with heddle-run, or not any more.
  void watch(pid_t group);
  void forget(pid_t group);

 private:
  void tell(char what, pid_t group);

  std::string folder_;
  unique_fd pipe_;
  pid_t process_ = -1;
};

}  // namespace heddle::run
