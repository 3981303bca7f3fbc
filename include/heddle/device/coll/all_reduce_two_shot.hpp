// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/coll/all_reduce.hpp>

/// Two-shot AllReduce over mapped memory: PE i owns segment i, combines it from all PEs in the
/// order of the PEs, and writes the result to all. Every byte crosses once in each direction, and
/// the results are bitwise equal, since each element is combined by one PE.
///
///     enter    tell every peer where my buffers are (offsets in the heap), wait for all
///     symmetric buffers, used in place         other buffers, staged in pieces
///       read segment `me` from all inputs        push segment i of my input to PE i; all have
///       write it to all outputs                  combine segment `me`, push the result to all; all
///       have leave: all have                          copy the results out
///
/// The way is the same on every PE because all see the same arrivals. In place is safe: segment
/// `me` of any buffer is read and then written by PE `me` alone.
namespace heddle {

namespace detail {

/// Tells where this PE's buffers are and learns where the others' are. 1: all symmetric, 0: some
/// are not, -1: the team was aborted.
template <group G>
HEDDLE_FN int two_shot_enter(G group, const team_ref& team, const channel_scratch& scratch,
                             uint64_t epoch, uint64_t input, uint64_t output, uint64_t bytes) {
  const int me = team.my_pe();
  const int n_pes = team.n_pes();
  bool arrived = true;
  bool symmetric =
      input != channel_scratch::not_symmetric && output != channel_scratch::not_symmetric;
  for (int pe = group.rank(); pe < n_pes; pe += group.size()) {
    auto* there = team.ptr(&scratch.arrival_of(me), pe);
    store(&there->input, input, relaxed);
    store(&there->output, output, relaxed);
    store(&there->bytes, bytes, relaxed);
    store(&there->epoch, epoch, release);
  }
  for (int pe = group.rank(); pe < n_pes; pe += group.size()) {
    auto& from = scratch.arrival_of(pe);
    arrived &= team.wait_by_thread(&from.epoch, cmp::ge, epoch, operation::all_reduce, pe) ==
               wait_status::ok;
    symmetric &= load(&from.input, relaxed) != channel_scratch::not_symmetric &&
                 load(&from.output, relaxed) != channel_scratch::not_symmetric;
    take_back(&from.taken);
  }
  if (!group.all(arrived)) return -1;
  return group.all(symmetric) ? 1 : 0;
}

template <class T, class Op, group G>
HEDDLE_FN void two_shot_in_place(G group, const team_ref& team, const channel_scratch& scratch,
                                 size_t n, stores how) {
  const segment<T> mine(n, team.n_pes(), team.my_pe());
  operand_list<T, channel_scratch::max_one_shot_pes> with;
  for (int pe = 0; pe < team.n_pes(); ++pe) {
    const auto& where = scratch.arrival_of(pe);
    byte* heap = team.ptr(team.heap(), pe);
    with.add_source(reinterpret_cast<const T*>(heap + load(&where.input, relaxed)) + mine.begin);
  }
  // Written from this PE on, so that the PEs do not all write to one at the same time.
  for (int i = 0; i < team.n_pes(); ++i) {
    const int pe = (team.my_pe() + i) % team.n_pes();
    byte* heap = team.ptr(team.heap(), pe);
    with.add_destination(
        reinterpret_cast<T*>(heap + load(&scratch.arrival_of(pe).output, relaxed)) + mine.begin);
  }
  reduce_copy<T, Op>(group, with.view(), mine.count, {team.n_pes()}, how);
}

/// One piece of at most staging_capacity bytes. The slot of PE p in staging_in holds its input to
/// my segment; staging_out has the layout of the piece.
template <class T, class Op, group G>
HEDDLE_FN bool two_shot_staged(G group, const team_ref& team, const channel_scratch& scratch,
                               int barrier, const T* input, T* output, size_t n) {
  const int me = team.my_pe();
  const int n_pes = team.n_pes();
  const segment<T> mine(n, n_pes, me);
  const size_t slot_bytes = segment<T>(n, n_pes, 0).count * sizeof(T);
  auto* in = scratch.staging_in();
  auto* out = reinterpret_cast<T*>(scratch.staging_out());

  for (int i = 1; i < n_pes; ++i) {
    const int pe = (me + i) % n_pes;
    const segment<T> theirs(n, n_pes, pe);
    copy(group, team.ptr(in, pe) + static_cast<size_t>(me) * slot_bytes, input + theirs.begin,
         theirs.count * sizeof(T));
  }
  if (team.sync(group, barrier) != wait_status::ok) return false;

  operand_list<T, channel_scratch::max_one_shot_pes> with;
  for (int pe = 0; pe < n_pes; ++pe)
    with.add_source(pe == me ? static_cast<const void*>(input + mine.begin)
                             : in + static_cast<size_t>(pe) * slot_bytes);
  with.add_destination(output + mine.begin);
  for (int i = 1; i < n_pes; ++i)
    with.add_destination(team.ptr(out, (me + i) % n_pes) + mine.begin);
  reduce_copy<T, Op>(group, with.view(), mine.count, {n_pes});
  if (team.sync(group, barrier) != wait_status::ok) return false;

  for (int i = 1; i < n_pes; ++i) {
    const segment<T> theirs(n, n_pes, (me + i) % n_pes);
    copy(group, output + theirs.begin, out + theirs.begin, theirs.count * sizeof(T));
  }
  return true;
}

}  // namespace detail

template <class T, class Op, block_group B>
HEDDLE_FN void all_reduce_two_shot(B block, const all_reduce_args& args) {
  const team_ref& team = args.team;
  const channel_scratch scratch(team, block.block_rank());
  const detail::channel_part<T> part(args, block.block_rank(), block.num_blocks());
  const int barrier = team_memory::first_channel_barrier + block.block_rank();
  // A segment for each PE must fit in the staging area, with borders on cache lines.
  const size_t staged = channel_scratch::staging_capacity / sizeof(T) -
                        static_cast<size_t>(team.n_pes()) * cache_line / sizeof(T);

  block.sync();  // the call before has counted
  const uint64_t epoch = scratch.state().two_shot + 1;
  const size_t bytes = args.count * sizeof(T);
  const int symmetric = detail::two_shot_enter(
      block, team, scratch, epoch, team.symmetric_offset(part.input, part.count * sizeof(T)),
      team.symmetric_offset(part.output, part.count * sizeof(T)), bytes);
  if (block.rank() == 0) scratch.state().two_shot = epoch;
  if (symmetric < 0) return;

  if (symmetric) {
    detail::two_shot_in_place<T, Op>(block, team, scratch, part.count, args.stores);
    (void)team.sync(block, barrier);
    return;
  }
  for (size_t at = 0; at < part.count; at += staged) {
    const size_t n = part.count - at < staged ? part.count - at : staged;
    if (!detail::two_shot_staged<T, Op>(block, team, scratch, barrier, part.input + at,
                                        part.output + at, n))
      return;
    block.sync();  // the results are out before the next piece is pushed
  }
}

}  // namespace heddle
