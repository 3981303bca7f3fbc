// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <time.h>

namespace bench::bare {

/// Looks until `look()` is true; false after ten seconds. The pause between two looks is short, and
/// it is faster with it than without: a tight loop has many loads under way, all to be thrown away
/// when the line changes. The clock is read only every million looks.
template <class Look>
[[gnu::always_inline]] inline bool spin_until(Look look) {
  constexpr long limit_s = 10;
  timespec start{};
  for (unsigned long polls = 1; !look(); ++polls) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
    if (polls % (1UL << 20) != 0) continue;
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (start.tv_sec == 0) start = now;
    if (now.tv_sec - start.tv_sec > limit_s) return false;
  }
  return true;
}

}  // namespace bench::bare
