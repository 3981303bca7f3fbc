// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/coll/all_reduce.hpp>
#include <heddle/device/coll/hop.hpp>
#include <heddle/device/impl/reduce_copy.hpp>

/// ReduceScatter of few bytes in a team of any size: the log n rounds of the AllGather in
/// rounds.hpp, backwards. A PE begins with a sum for each PE, its own input. In round k, from the
/// last to 0, those for the PEs 2^k behind it and farther go to the PE 2^k behind, and as many come
/// that are for this PE and those behind it: at the end there is one sum. So the inputs of a piece
/// meet in a binomial tree of their own, what has come first, this PE's second.
namespace heddle {

namespace detail {

/// Bytes of all pieces, with a line for each PE, that a team has room for.
inline constexpr size_t most_in_rounds = channel_scratch::most_staging;

}  // namespace detail

/// Called on every PE of a team of more than channel_scratch::max_direct_pes, by at most
/// channel_scratch::max_hop_channels blocks; n_pes pieces fit in detail::most_in_rounds.
template <class T, class Op, block_group B>
HEDDLE_FN void reduce_scatter_in_rounds(B block, const all_reduce_args& args, Op op) {
  using hop_type = detail::hop<B>;
  constexpr size_t capacity = hop_type::capacity / sizeof(T);
  const team_ref& team = args.team;
  const int n_pes = team.n_pes();
  const channel_scratch scratch(team, block.block_rank(), block.num_blocks());
  const detail::channel_part<T> part(args, block.block_rank(), block.num_blocks());
  if (part.count == 0) return;  // on every PE
  const detail::reduce_step<Op> reduction(op);
  // sums[i]: for the PE i behind. A neighbour that is ahead may have begun an AllReduce by hosts,
  // and what it brings in that is in staging_in already; into staging_out it brings nothing before
  // this PE has entered that too.
  auto* sums = reinterpret_cast<T*>(scratch.staging_out());

  block.sync();  // the call before has saved its counts
  for (int i = 0, pe = team.my_pe(); i < n_pes; ++i, pe = pe + 1 < n_pes ? pe + 1 : 0)
    detail::copy(block, sums + static_cast<size_t>(i) * part.count,
                 part.input + static_cast<size_t>(pe) * args.count, part.count * sizeof(T));
  block.sync();
  int k = 0;
  while (2 << k < n_pes) ++k;
  for (; k >= 0; --k) {
    const int distance = 1 << k;
    const int pieces = distance < n_pes - distance ? distance : n_pes - distance;
    const size_t all = static_cast<size_t>(pieces) * part.count;
    const T* theirs = sums + static_cast<size_t>(distance) * part.count;
    hop_type by(block, team, scratch, k);
    for (size_t at = 0; at < all; at += capacity) {
      const size_t n = all - at < capacity ? all - at : capacity;
      const bool going = by.send(n * sizeof(T), [&](byte* slot) {
        detail::copy(block, slot, theirs + at, n * sizeof(T));
      }) && by.receive([&](const byte* slot) {
        detail::operand_list<T, 2> with;
        with.add_source(slot);
        with.add_source(sums + at);
        with.add_destination(k == 0 ? part.output + at : sums + at);
        detail::reduce_copy<T, Op>(block, with.view(), n, reduction.when(k == 0));
        return true;
      });
      if (!going) return;
    }
    by.save();
  }
}

}  // namespace heddle
