// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// For LD_PRELOAD: close_range as Linux before 5.9 answers it.

#include <cerrno>

extern "C" int close_range(unsigned, unsigned, int) {
  errno = ENOSYS;
  return -1;
}
