// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/team.hpp>

/// Ordering and the barrier.
///
/// Barrier number e of a team (e = 1, 2, ... on every PE alike):
///
///   up to 16 PEs     each PE stores e (release) in word `arrived[me]` of every other,
///                    then waits for its own arrived[i] >= e for every i: one hop
///   more             dissemination (Hensgen, Finkel, Manber 1988): in round k store e in
///                    round[k] of PE me + 2^k, then wait for the own round[k] >= e:
///                    ceil(log2 n) hops
///
/// Words only grow, so nothing is reset, and a PE that is one barrier ahead does no harm: it cannot
/// be two ahead, since it waits for this one.
namespace heddle {

HEDDLE_FN inline void team_ref::fence() const {
  release_fence();
  if (proxy_) apart().remote_fence();
}

HEDDLE_FN inline void team_ref::quiet() const {
  system_fence();
  if (proxy_) apart().remote_quiet();
}

HEDDLE_FN inline void team_ref::quiet_everything() const {
  system_fence();
  if (proxy_) apart().remote_quiet(command::everything);
}

HEDDLE_FN inline void team_ref::tell(uint64_t* word, uint64_t value, int pe) const {
  release_fence();
  tell_next(word, value, pe);
}

HEDDLE_FN inline void team_ref::tell_next(uint64_t* word, uint64_t value, int pe) const {
  if (is_remote(pe)) return remote_signal(word, value, signal_op::set, pe, command::unheeded);
  store(ptr(word, pe), value, ordered_by_fence);
}

template <group G>
HEDDLE_APART HEDDLE_FN wait_status team_ref::sync(G group, int index) const {
  barrier_memory* here = &memory_->barriers[index];
  const uint64_t epoch = here->epoch.value + 1;
  group.sync();  // every thread has read the epoch, and has written what the stores below release
  bool arrived = true;
  if (n_pes_ <= barrier_memory::max_direct) {
    if (group.rank() < n_pes_) release_fence();  // one, however many this thread tells
    for (int i = group.rank(); i < n_pes_; i += group.size())
      if (i != my_pe_) tell_next(&here->arrived[my_pe_].value, epoch, i);
    for (int i = group.rank(); i < n_pes_; i += group.size()) {
      if (i == my_pe_) continue;
      arrived &= await_count(&here->arrived[i].value, epoch, operation::barrier, i);
      take_back(&here->arrived[i].taken);
    }
  } else if (group.rank() == 0) {
    for (int distance = 1, k = 0; distance < n_pes_ && arrived; distance *= 2, ++k) {
      const int from = (my_pe_ - distance + n_pes_) % n_pes_;
      tell(&here->round[k].value, epoch, (my_pe_ + distance) % n_pes_);
      arrived = await_count(&here->round[k].value, epoch, operation::barrier, from);
    }
  }
  if (group.rank() == 0) here->epoch.value = epoch;
  return group.all(arrived) ? wait_status::ok : wait_status::aborted;
}

template <group G>
HEDDLE_FN wait_status team_ref::barrier(G group, int index) const {
  if (proxy_) {
    group.sync();  // what the group's threads have asked for is in the queue
    if (group.rank() == 0) apart().remote_quiet();
  }
  return apart().sync(group, index);
}

}  // namespace heddle
