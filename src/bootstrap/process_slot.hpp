// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace heddle {

/// The process's one place in the job that its environment tells of, held while a bootstrap uses
/// it: a launcher knows a process as one rank.
class process_slot {
 public:
  /// Throws HEDDLE_ERROR_INVALID_USAGE if the place is taken, also by the process that forked this
  /// one.
  process_slot();
  ~process_slot();
  process_slot(const process_slot&) = delete;
  process_slot& operator=(const process_slot&) = delete;
};

}  // namespace heddle
