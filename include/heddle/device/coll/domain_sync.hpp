// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/team.hpp>

namespace heddle::detail {

/// All PEs of a domain have arrived, whose memory reaches each other: what they have stored before
/// is visible to all. At most barrier_memory::max_direct PEs, in the order of `domain`, which has
/// `n`, `mine` (this PE's place) and `pe(i)`. Called by all threads of a group. False, on all of
/// them, if the team was aborted.
template <group G, class Domain>
HEDDLE_APART HEDDLE_FN bool domain_sync(G group, const team_ref& team, const Domain& domain,
                                        int channel, operation what) {
  barrier_memory* here = &team.memory()->barriers[team_memory::first_domain_barrier + channel];
  const uint64_t epoch = here->epoch.value + 1;
  group.sync();  // every thread has read the epoch, and has written what the stores below release
  bool arrived = true;
  if (group.rank() < domain.n) release_fence();  // one, however many this thread tells
  for (int i = group.rank(); i < domain.n; i += group.size())
    if (i != domain.mine) team.tell_next(&here->arrived[domain.mine].value, epoch, domain.pe(i));
  for (int i = group.rank(); i < domain.n; i += group.size()) {
    if (i == domain.mine) continue;
    arrived &= team.await_count(&here->arrived[i].value, epoch, what, domain.pe(i));
    take_back(&here->arrived[i].taken);
  }
  if (group.rank() == 0) here->epoch.value = epoch;
  return group.all(arrived);
}

}  // namespace heddle::detail
