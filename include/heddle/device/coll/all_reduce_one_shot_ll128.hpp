// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/coll/all_reduce.hpp>
#include <heddle/device/impl/line_moves.hpp>

namespace heddle {

namespace detail {

/// The lines of a one-shot AllReduce: first this PE's input to every other, then all inputs, in the
/// order of the PEs, to this one.
struct one_shot_lines {
  static constexpr int lines = 2;
  static constexpr int sources = 4;

  HEDDLE_FN int count() const { return sending ? 1 : team.n_pes(); }
  HEDDLE_FN int own() const { return sending ? 0 : team.my_pe(); }
  HEDDLE_FN line_end source(int pe) const {
    return {scratch.ll128_slot(epoch % 2, pe), epoch + 1, pe};
  }
  HEDDLE_FN int n_destinations() const { return sending ? team.n_pes() - 1 : 0; }
  /// From this PE on, so that the PEs do not all write to one at the same time.
  HEDDLE_FN line_end destination(int i) const {
    const int after = team.my_pe() + 1 + i;
    const int pe = after < team.n_pes() ? after : after - team.n_pes();
    return {team.ptr(scratch.ll128_slot(epoch % 2, team.my_pe()), pe), epoch + 1, pe};
  }

  const team_ref& team;
  const channel_scratch& scratch;
  uint64_t epoch;
  bool sending;
};

}  // namespace detail

/// Protocol LL128: lines that arrive whole. n * sizeof(T) <= ll128_capacity.
template <class T, class Op, group G>
HEDDLE_APART HEDDLE_FN bool all_reduce_one_shot_ll128(G group, const team_ref& team,
                                                      const channel_scratch& scratch,
                                                      const T* input, T* output, size_t n,
                                                      detail::reduce_step<Op> reduction) {
  group.sync();  // the call before has counted
  const uint64_t epoch = scratch.state().one_shot_ll128;
  bool arrived = true;
  for (bool sending = true;; sending = false) {
    const detail::one_shot_lines ends{team, scratch, epoch, sending};
    arrived = detail::move_lines<T, Op>(group, team, ends, input, sending ? nullptr : output, n,
                                        reduction.when(!sending), operation::all_reduce);
    if (!sending) break;
  }
  arrived = group.all(arrived);
  if (group.rank() == 0) scratch.state().one_shot_ll128 = epoch + 1;
  return arrived;
}

}  // namespace heddle
