// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

namespace heddle::run {

/// Removes what libfabric's provider shm leaves of a process that did not end well: files of 16 MiB
/// in /dev/shm, whose names begin with its number and its user's.
void remove_shared_memory_files(pid_t ended);

}  // namespace heddle::run
