// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/coll/scratch.hpp>
#include <heddle/device/team.hpp>

/// PEs that reach each other by memory enter a call: each tells the others where its buffers are,
/// and waits for all. After that each may read the others' inputs and write to their outputs, where
/// these are in the symmetric heap.
namespace heddle::detail {

/// All PEs of a team, in its order.
struct every_pe {
  int n;
  int mine;
  HEDDLE_FN int pe(int i) const { return i; }
};

/// Where a PE's buffers are: offsets in its heap, or `not_symmetric`.
struct buffer_offsets {
  uint64_t input;
  uint64_t output;

  HEDDLE_FN bool symmetric() const {
    return input != channel_scratch::not_symmetric && output != channel_scratch::not_symmetric;
  }
  HEDDLE_FN bool operator==(const buffer_offsets& other) const {
    return input == other.input && output == other.output;
  }
};

/// Of a PE that has entered.
HEDDLE_FN inline buffer_offsets buffers_of(const channel_scratch& scratch, int pe) {
  const auto& from = scratch.arrival_of(pe);
  return {load_settled(from.input), load_settled(from.output)};
}

/// What those that have entered have in common.
enum class entry {
  aborted,
  same_offsets,  ///< everybody's buffers are where mine are
  in_place,      ///< all are symmetric
  staged         ///< some are not
};

/// Called by each of `members`, by all threads of a group, after a sync of the group since the call
/// before. The answer is the same on all of them, which see the same.
template <group G, class Members>
HEDDLE_APART HEDDLE_FN entry enter(G group, const team_ref& team, const channel_scratch& scratch,
                                   const Members& members, const buffer_offsets& mine,
                                   operation what) {
  const uint64_t epoch = scratch.state().entries + 1;
  bool arrived = true;
  bool same = mine.symmetric();
  bool symmetric = same;
  HEDDLE_ROLLED
  for (int i = group.rank(); i < members.n; i += group.size()) {
    if (i == members.mine) continue;
    auto* there = team.ptr(&scratch.arrival_of(team.my_pe()), members.pe(i));
    store(&there->input, mine.input, relaxed);
    store(&there->output, mine.output, relaxed);
    store(&there->epoch, epoch, release);
  }
  HEDDLE_ROLLED
  for (int i = group.rank(); i < members.n; i += group.size()) {
    if (i == members.mine) continue;
    const int pe = members.pe(i);
    arrived &= team.await_count(&scratch.arrival_of(pe).epoch, epoch, what, pe);
    const auto theirs = buffers_of(scratch, pe);
    same &= theirs == mine;
    symmetric &= theirs.symmetric();
  }
  arrived &= group.rank() != 0 || !team.alarmed();  // see team_ref::may_bring
  arrived = group.all(arrived);
  if (group.rank() == 0) scratch.state().entries = epoch;  // all threads have read it
  if (!arrived) return entry::aborted;
  if (group.all(same)) return entry::same_offsets;
  return group.all(symmetric) ? entry::in_place : entry::staged;
}

}  // namespace heddle::detail
