// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/coll/all_reduce_one_shot.hpp>
#include <heddle/device/coll/all_reduce_ring.hpp>

/// Hierarchical AllReduce: within a domain by memory, then across domains by the network.
///
///     1  in a domain of m PEs, each owns a segment: all push that part of their input to it, and
///     it
///        combines them, in the order of the domain's PEs
///     2  the owners of one segment, one in each domain (a rail), combine it: one-shot if it is
///        small, else along a ring
///     3  each owner writes its result to all PEs of its domain
///
/// Few bytes have one owner in each domain: more rails would each take as long.
///
/// So each byte of a domain crosses the network once in each direction and round, over m rails at
/// the same time. Every element is combined in one order on one path, or in one order by all of a
/// rail: bitwise equal everywhere. Buffers are staged in pieces.
namespace heddle {

namespace detail {

using domains_type = team_topology::domains_type;

/// Bytes up to which one PE of each domain combines all.
inline constexpr size_t most_for_one_owner = 8192;

/// The PEs with the same place in all domains.
struct rail_pes {
  const domains_type& domains;
  int n;
  int mine;
  HEDDLE_FN explicit rail_pes(const domains_type& all)
      : domains(all), n(all.count), mine(all.mine) {}
  HEDDLE_FN int pe(int i) const { return domains.pe(i, domains.index); }
};

/// All PEs of the domain have arrived.
template <group G>
HEDDLE_APART HEDDLE_FN bool domain_sync(G group, const team_ref& team, const domains_type& domains,
                                        int index) {
  barrier_memory* here = &team.memory()->barriers[index];
  const uint64_t epoch = here->epoch.value + 1;
  group.sync();  // every thread has read the epoch, and has written what the stores below release
  bool arrived = true;
  for (int i = group.rank(); i < domains.size; i += group.size())
    if (i != domains.index)
      team.tell(&here->arrived[domains.index].value, epoch, domains.pe(domains.mine, i));
  for (int i = group.rank(); i < domains.size; i += group.size()) {
    if (i == domains.index) continue;
    arrived &= team.wait_by_thread(&here->arrived[i].value, cmp::ge, epoch, operation::all_reduce,
                                   domains.pe(domains.mine, i)) == wait_status::ok;
    take_back(&here->arrived[i].taken);
  }
  if (group.rank() == 0) here->epoch.value = epoch;
  return group.all(arrived);
}

/// One piece, whose segments fit in the staging area.
template <class T, class Op, group G>
HEDDLE_FN bool hierarchical_piece(G group, const all_reduce_args& args,
                                  const channel_scratch& scratch, int barrier, const T* input,
                                  T* output, size_t n, reduce_step<Op> reduction) {
  const team_ref& team = args.team;
  const domains_type& domains = args.topology.domains;
  const int owners = n * sizeof(T) <= most_for_one_owner ? 1 : domains.size;
  const segment<T> mine(n, owners, domains.index);
  const size_t slot_bytes = segment<T>(n, owners, 0).count * sizeof(T);
  auto* in = scratch.staging_in();
  auto* out = reinterpret_cast<T*>(scratch.staging_out());
  const auto neighbour = [&](int i) {
    return domains.pe(domains.mine, (domains.index + i) % domains.size);
  };

  for (int i = 1; i < domains.size; ++i) {
    const segment<T> theirs(n, owners, (domains.index + i) % domains.size);
    copy(group, team.ptr(in, neighbour(i)) + static_cast<size_t>(domains.index) * slot_bytes,
         input + theirs.begin, theirs.count * sizeof(T));
  }
  if (!domain_sync(group, team, domains, barrier)) return false;

  operand_list<T, barrier_memory::max_direct> with;
  for (int i = 0; i < domains.size; ++i)
    with.add_source(i == domains.index ? static_cast<const void*>(input + mine.begin)
                                       : in + static_cast<size_t>(i) * slot_bytes);
  with.add_destination(out + mine.begin);
  reduce_copy<T, Op>(group, with.view(), mine.count, reduction.when(false));
  group.sync();

  // Large teams have no slots for one-shot.
  const bool by_one_shot = team.n_pes() <= channel_scratch::max_direct_pes &&
                           mine.count * sizeof(T) <= channel_scratch::one_shot_capacity;
  if (by_one_shot && mine.count > 0) {
    if (!all_reduce_one_shot_simple<T, Op>(group, team, scratch, rail_pes(domains),
                                           out + mine.begin, out + mine.begin, mine.count,
                                           reduction))
      return false;
  } else if (!by_one_shot) {
    const int k = domains.count;
    const ring_place rail{k, domains.mine, domains.pe((domains.mine + k - 1) % k, domains.index),
                          domains.pe((domains.mine + 1) % k, domains.index)};
    if (!reduce_along_ring<protocol::simple, T, Op>(
            group, team, rail, scratch.links() + channel_scratch::rail_link, out + mine.begin,
            out + mine.begin, mine.count, reduction))
      return false;
  }

  // Of a team's one-shots all count all: in the next some may be members that were not in this one.
  group.sync();
  if (group.rank() == 0 && !(by_one_shot && mine.count > 0)) ++scratch.state().one_shot_simple;

  for (int i = 1; i < domains.size; ++i)
    copy(group, team.ptr(out, neighbour(i)) + mine.begin, out + mine.begin, mine.count * sizeof(T));
  copy(group, output + mine.begin, out + mine.begin, mine.count * sizeof(T));
  if (!domain_sync(group, team, domains, barrier)) return false;
  for (int i = 1; i < domains.size; ++i) {
    const segment<T> theirs(n, owners, (domains.index + i) % domains.size);
    copy(group, output + theirs.begin, out + theirs.begin, theirs.count * sizeof(T));
  }
  group.sync();
  return true;
}

}  // namespace detail

template <class T, class Op, block_group B>
HEDDLE_FN void all_reduce_hierarchical(B block, const all_reduce_args& args, Op op) {
  const channel_scratch scratch(args.team, block.block_rank(), block.num_blocks());
  const detail::channel_part<T> part(args, block.block_rank(), block.num_blocks());
  const auto& domains = args.topology.domains;
  const int barrier = team_memory::first_domain_barrier + block.block_rank();

  block.sync();  // the call before has counted
  const size_t staged = scratch.staging_capacity() / sizeof(T) -
                        static_cast<size_t>(domains.size) * cache_line / sizeof(T);
  for (size_t at = 0; at < part.count; at += staged) {
    const size_t n = part.count - at < staged ? part.count - at : staged;
    if (!detail::hierarchical_piece<T, Op>(block, args, scratch, barrier, part.input + at,
                                           part.output + at, n, detail::reduce_step<Op>(op)))
      return;
  }
}

}  // namespace heddle
