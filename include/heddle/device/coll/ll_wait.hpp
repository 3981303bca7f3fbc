// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/ll.hpp>
#include <heddle/device/team.hpp>

/// Waits for LL lines. What takes longer than a hop is a call on CUDA: a kernel that runs for some
/// microseconds spends most of them fetching its code.
namespace heddle::detail {

/// Looks at lines until all are here, a while at most: data[i] of line[i], for those that are not
/// here[i] yet. A look at a GPU's memory takes 0.2 us, and these are under way together. On the
/// host a look is at the nearest cache: there is nothing to gain.
template <int N>
HEDDLE_FN void ll_look([[maybe_unused]] const ll_line* const (&line)[N],
                       [[maybe_unused]] const uint32_t (&flag)[N],
                       [[maybe_unused]] uint64_t (&data)[N], [[maybe_unused]] bool (&here)[N]) {
#if HEDDLE_ON_CUDA
  constexpr int looks = 64;
  bool all_here = true;
  for (int i = 0; i < N; ++i) all_here &= here[i];
  HEDDLE_ROLLED
  for (int look = 0; look < looks && !all_here; ++look) {
    uint64_t seen[N];
    bool now[N];
    for (int i = 0; i < N; ++i) now[i] = ll_load(line[i], flag[i], seen[i]);
    all_here = true;
    for (int i = 0; i < N; ++i) {
      if (now[i] && !here[i]) data[i] = seen[i];
      here[i] |= now[i];
      all_here &= here[i];
    }
  }
#endif
}

struct ll_word {
  uint64_t data;
  bool arrived;  ///< false: the team was aborted
};

/// Waits for a line of `pe`.
HEDDLE_APART HEDDLE_FN inline ll_word ll_await(const team_ref& team, const ll_line* line,
                                               uint32_t flag, operation what, int pe) {
  ll_word word{};
  auto look = [&](uint64_t& seen) {
    const bool here = ll_load(line, flag, word.data);
    seen = load(&line->flag0, relaxed);
    return here;
  };
  word.arrived = team.wait_by_thread(look, line, cmp::eq, flag, what, pe) == wait_status::ok;
  return word;
}

}  // namespace heddle::detail
