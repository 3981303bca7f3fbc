// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/coll/all_reduce.hpp>
#include <heddle/device/coll/entry.hpp>
#include <heddle/device/impl/multimem.hpp>

/// Two-shot AllReduce: PE i owns segment i, combines it from all PEs in the
/// order of the PEs, and writes the result to all. Every byte crosses once in each direction, and
/// the results are bitwise equal, since each element is combined by one PE.
///
///     enter    tell every peer where my buffers are (offsets in the heap), wait for all
///     symmetric buffers, used in place         other buffers, staged in pieces
///       read segment `me` from all inputs        push segment i of my input to PE i; all have
///       write it to all outputs                  combine segment `me`, push the result to all; all
///       have leave: all have                          copy the results out
///
/// In a team with remote PEs all buffers are staged.
///
/// The way is the same on every PE because all see the same arrivals. In place is safe: segment
/// `me` of any buffer is read and then written by PE `me` alone.
namespace heddle {

namespace detail {

/// What of a call's elements a PE combines, and where the result goes.
template <class T>
class two_shot_parts {
 public:
  HEDDLE_FN explicit two_shot_parts(const all_reduce_args& args)
      : kind_(args.kind), stride_(args.count), root_(args.root) {}

  /// The segment of `pe` of a piece of n elements, in the input.
  HEDDLE_FN segment<T> of(size_t n, int n_pes, int pe) const {
    if (kind_ != reduce_kind::reduce_scatter) return segment<T>(n, n_pes, pe);
    segment<T> whole(n, 1, 0);
    whole.begin = static_cast<size_t>(pe) * stride_;
    return whole;
  }
  /// Where in an output that has it the segment is.
  HEDDLE_FN size_t place_of(const segment<T>& mine) const {
    return kind_ == reduce_kind::reduce_scatter ? 0 : mine.begin;
  }
  /// Whether `pe` gets the result of `owner`.
  HEDDLE_FN bool gets(int pe, int owner) const {
    if (kind_ == reduce_kind::all_reduce) return true;
    return pe == (kind_ == reduce_kind::reduce ? root_ : owner);
  }
  /// Whether outputs are written by other PEs than their own, those of `pe` too.
  HEDDLE_FN bool is_written(int pe) const {
    return kind_ == reduce_kind::all_reduce || (kind_ == reduce_kind::reduce && pe == root_);
  }
  /// Elements from the first to the last of a PE's input to a piece of n.
  HEDDLE_FN size_t input_extent(size_t n, int n_pes) const {
    return kind_ == reduce_kind::reduce_scatter ? static_cast<size_t>(n_pes - 1) * stride_ + n : n;
  }
  HEDDLE_FN bool is_all_reduce() const { return kind_ == reduce_kind::all_reduce; }

 private:
  reduce_kind kind_;
  size_t stride_;
  int root_;
};

/// `offsets`: where this PE's buffers are. When all are at the same they come from there and not
/// from the lines that have just arrived, so that a host processor has the addresses before the
/// lines.
template <class T, class Op, group G>
HEDDLE_APART HEDDLE_FN void two_shot_in_place(G group, const team_ref& team,
                                              const channel_scratch& scratch,
                                              const two_shot_parts<T>& parts,
                                              const segment<T>& mine, T* output,
                                              reduce_step<Op> reduction, stores how,
                                              const buffer_offsets& offsets, bool same_offsets) {
  const int me = team.my_pe();
  const int n_pes = team.n_pes();
  operand_list<T, channel_scratch::max_direct_pes> with;
  const auto buffers = [&](int pe) {
    return same_offsets || pe == me ? offsets : buffers_of(scratch, pe);
  };
  HEDDLE_ROLLED
  for (int pe = 0; pe < n_pes; ++pe)
    with.add_source(reinterpret_cast<const T*>(team.ptr(team.heap(), pe) + buffers(pe).input) +
                    mine.begin);
  // Written from this PE on, so that the PEs do not all write to one at the same time.
  HEDDLE_ROLLED
  for (int i = 0; i < n_pes; ++i) {
    const int pe = me + i < n_pes ? me + i : me + i - n_pes;
    if (!parts.gets(pe, me)) continue;
    T* there =
        pe == me ? output : reinterpret_cast<T*>(team.ptr(team.heap(), pe) + buffers(pe).output);
    with.add_destination(there + parts.place_of(mine));
  }
  HEDDLE_ROLLED
  for (int pe = group.rank(); pe < n_pes; pe += group.size())
    if (pe != me) take_back(&scratch.arrival_of(pe).taken);
  reduce_copy<T, Op>(group, with.view(), mine.count, reduction, how);
}

/// The same by multicast, for inputs at the same offsets: an NVLink switch combines, and writes to
/// all where all get the result. What does not fill a unit is done without it.
template <class T, class Op, group G>
HEDDLE_APART HEDDLE_FN void two_shot_by_multicast(G group, const team_ref& team,
                                                  const channel_scratch& scratch,
                                                  const two_shot_parts<T>& parts, const T* input,
                                                  T* output, const segment<T>& mine,
                                                  reduce_step<Op> reduction,
                                                  const buffer_offsets& offsets) {
  using access = multimem<T, Op>;
  constexpr int batch = HEDDLE_HAS_MULTIMEM ? 4 : 1;
  const size_t units = mine.count / access::elements;
  const auto threads = static_cast<size_t>(group.size());
  const T* from = input + mine.begin;
  T* to = output + parts.place_of(mine);
  const auto write = [&](size_t unit, typename access::unit value) {
    for (int e = 0; e < access::elements; ++e)
      value.element[e] = finish_stored<T, Op>(value.element[e], reduction);
    if (parts.is_all_reduce())
      access::store(team, to + unit * access::elements, value);
    else
      *reinterpret_cast<typename access::unit*>(to + unit * access::elements) = value;
  };

  fence_multicast();  // what all have written by its own address
  auto i = static_cast<size_t>(group.rank());
  for (; i + (batch - 1) * threads < units; i += batch * threads) {
    typename access::unit value[batch];
    for (int b = 0; b < batch; ++b)
      value[b] =
          access::load_reduce(reduction.op, team, from + (i + b * threads) * access::elements);
    for (int b = 0; b < batch; ++b) write(i + b * threads, value[b]);
  }
  for (; i < units; i += threads)
    write(i, access::load_reduce(reduction.op, team, from + i * access::elements));
  fence_multicast();

  segment<T> rest = mine;
  rest.begin += units * access::elements;
  rest.count -= units * access::elements;
  // Of a reduce_scatter the output begins with the segment.
  T* rest_output = output + (parts.place_of(rest) == 0 ? units * access::elements : 0);
  two_shot_in_place<T, Op>(group, team, scratch, parts, rest, rest_output, reduction,
                           stores::cached, offsets, true);
}

/// Whether the staged way is there for remote PEs. A GPU's registers are full as it is, and its
/// plans go over the network in other ways.
inline constexpr bool two_shot_has_network = !HEDDLE_ON_CUDA;

/// All meet; then each has what the others have put. Through the network a word follows what the
/// same PE has put before it: enough where each tells each. In larger teams others pass it on.
template <group G>
HEDDLE_FN bool meet_with_puts(G group, const team_ref& team, int barrier) {
  if constexpr (two_shot_has_network)
    if (team.has_network() && team.n_pes() > barrier_memory::max_direct)
      return team.barrier(group, barrier) == wait_status::ok;
  return team.sync(group, barrier) == wait_status::ok;
}

/// One piece of at most staging_capacity() bytes. The slot of PE p in staging_in holds its input to
/// my segment; staging_out has the layout of an output.
template <class T, class Op, group G>
HEDDLE_APART HEDDLE_FN bool two_shot_staged(G group, const team_ref& team,
                                            const channel_scratch& scratch, int barrier,
                                            const two_shot_parts<T>& parts, const T* input,
                                            T* output, size_t n, reduce_step<Op> reduction) {
  const int me = team.my_pe();
  const int n_pes = team.n_pes();
  const segment<T> mine = parts.of(n, n_pes, me);
  const size_t slot_bytes = parts.of(n, n_pes, 0).count * sizeof(T);
  const size_t place = parts.place_of(mine);
  auto* in = scratch.staging_in();
  auto* out = reinterpret_cast<T*>(scratch.staging_out());

  for (int i = 1; i < n_pes; ++i) {
    const int pe = (me + i) % n_pes;
    const segment<T> theirs = parts.of(n, n_pes, pe);
    auto* slot = in + static_cast<size_t>(me) * slot_bytes;
    const auto* from = reinterpret_cast<const byte*>(input + theirs.begin);
    if constexpr (two_shot_has_network)
      team.put_nbi(group, slot, from, theirs.count * sizeof(T), pe);
    else
      copy(group, team.ptr(slot, pe), from, theirs.count * sizeof(T));
  }
  if (!meet_with_puts(group, team, barrier)) return false;

  operand_list<T, channel_scratch::max_direct_pes> with;
  for (int pe = 0; pe < n_pes; ++pe)
    with.add_source(pe == me ? static_cast<const void*>(input + mine.begin)
                             : in + static_cast<size_t>(pe) * slot_bytes);
  if (parts.gets(me, me)) with.add_destination(output + place);
  bool has_remote = false;
  for (int i = 1; i < n_pes; ++i) {
    const int pe = (me + i) % n_pes;
    if (!parts.gets(pe, me)) continue;
    if (two_shot_has_network && team.is_remote(pe))
      has_remote = true;
    else
      with.add_destination(team.ptr(out, pe) + place);
  }
  // The network takes the result from here: `output` is the user's again on return.
  if (has_remote) with.add_destination(out + place);
  reduce_copy<T, Op>(group, with.view(), mine.count, reduction);
  for (int i = 1; two_shot_has_network && has_remote && i < n_pes; ++i) {
    const int pe = (me + i) % n_pes;
    if (team.is_remote(pe) && parts.gets(pe, me))
      team.put_nbi(group, out + place, out + place, mine.count, pe);
  }
  if (!meet_with_puts(group, team, barrier)) return false;

  for (int i = 1; i < n_pes; ++i) {
    const int pe = (me + i) % n_pes;
    const segment<T> theirs = parts.of(n, n_pes, pe);
    if (parts.gets(me, pe))
      copy(group, output + theirs.begin, out + theirs.begin, theirs.count * sizeof(T));
  }
  return true;
}

template <class T, class Op>
HEDDLE_FN bool goes_by_multicast(const team_ref& team, const buffer_offsets& offsets,
                                 const T* input, const T* output, size_t bytes,
                                 reduce_step<Op> reduction) {
  if (!multimem<T, Op>::supported) return false;
  if (reduction.template finishes<typename accumulator<T>::type>() && !multimem<T, Op>::averages)
    return false;
  const uint64_t last = offsets.input > offsets.output ? offsets.input : offsets.output;
  const bool reached = !HEDDLE_HAS_MULTIMEM || last + bytes <= team.multicast_bytes();
  return reached && (offsets.input | offsets.output | reinterpret_cast<uintptr_t>(input) |
                     reinterpret_cast<uintptr_t>(output)) %
                            16 ==
                        0;
}

}  // namespace detail

/// With `by_multicast` an NVLink switch does the combining where it can: for symmetric buffers at
/// the same offsets, aligned to 16 bytes. Its order is its own, and not the same on every run.
template <class T, class Op, block_group B>
HEDDLE_FN void all_reduce_two_shot(B block, const all_reduce_args& args, Op op,
                                   bool by_multicast = false) {
  const team_ref& team = args.team;
  const int n_pes = team.n_pes();
  const channel_scratch scratch(team, block.block_rank(), block.num_blocks());
  const detail::channel_part<T> part(args, block.block_rank(), block.num_blocks());
  if (part.count == 0) return;  // on every PE: without the closing barrier it must not enter
  const int barrier = team_memory::first_channel_barrier + block.block_rank();
  const detail::two_shot_parts<T> parts(args);

  block.sync();  // the call before has counted
  const size_t bytes = parts.input_extent(part.count, n_pes) * sizeof(T);
  const detail::reduce_step<Op> reduction(op);
  // An output that no other PE writes may be anywhere.
  const detail::buffer_offsets mine = {
      team.symmetric_offset(part.input, bytes),
      parts.is_written(team.my_pe()) ? team.symmetric_offset(part.output, part.count * sizeof(T))
                                     : 0};
  const detail::segment<T> my_segment = parts.of(part.count, n_pes, team.my_pe());
  auto way = detail::entry::staged;
  if (!team.has_network()) {
    const detail::every_pe all{n_pes, team.my_pe()};
    way = detail::enter(block, team, scratch, all, mine, operation_of(args.kind));
  }
  if (way == detail::entry::aborted) return;

  if (way != detail::entry::staged) {
    const bool same_offsets = way == detail::entry::same_offsets;
    if (by_multicast && same_offsets &&
        detail::goes_by_multicast<T, Op>(team, mine, part.input + my_segment.begin, part.output,
                                         bytes, reduction)) {
      if constexpr (detail::multimem<T, Op>::supported)
        detail::two_shot_by_multicast<T, Op>(block, team, scratch, parts, part.input, part.output,
                                             my_segment, reduction, mine);
    } else {
      detail::two_shot_in_place<T, Op>(block, team, scratch, parts, my_segment, part.output,
                                       reduction, args.stores, mine, same_offsets);
    }
    (void)team.sync(block, barrier);
    return;
  }
  // A segment for each PE must fit in the staging area, with borders on cache lines.
  const size_t room =
      scratch.staging_capacity() / sizeof(T) - static_cast<size_t>(n_pes) * detail::per_line<T>;
  const size_t each = room / static_cast<size_t>(n_pes);
  const size_t staged =
      args.kind == reduce_kind::reduce_scatter ? each - each % detail::per_line<T> : room;
  for (size_t at = 0; at < part.count; at += staged) {
    const size_t n = part.count - at < staged ? part.count - at : staged;
    if (!detail::two_shot_staged<T, Op>(block, team, scratch, barrier, parts, part.input + at,
                                        part.output ? part.output + at : nullptr, n, reduction))
      return;
    block.sync();  // the results are out before the next piece is pushed
  }
}

}  // namespace heddle
