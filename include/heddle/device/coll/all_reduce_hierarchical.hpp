// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/coll/all_reduce_one_shot.hpp>
#include <heddle/device/coll/all_reduce_ring.hpp>
#include <heddle/device/coll/domain_sync.hpp>

/// Hierarchical AllReduce: within a domain by memory, then across domains by the network.
///
///     1  in a domain of m PEs, each owns a segment: all push that part of their input to it, and
///        it combines them, in the order of the domain's PEs
///     2  the owners of one segment, one in each domain (a rail), combine it: one-shot if it is
///        small, else along a ring
///     3  each owner writes its result to all PEs of its domain
///
/// Few bytes have one owner in each domain: more rails would each take as long. A ReduceScatter and
/// a Reduce are the same, of which each PE keeps what is its own.
///
/// So each byte of a domain crosses the network once in each direction and round, over m rails at
/// the same time. Every element is combined in one order on one path, or in one order by all of a
/// rail: bitwise equal everywhere.
///
/// Buffers are staged in pieces. Where all of a domain are in the symmetric heap, an AllReduce of
/// many bytes uses them in place: an owner reads its segment from all inputs, and writes the result
/// to all outputs. Domains may differ in that: along the rails the pieces are the same.
namespace heddle {

namespace detail {

using domains_type = team_topology::domains_type;

/// Bytes up to which one PE of each domain combines all.
inline constexpr size_t most_for_one_owner = 8192;

/// The PEs of this PE's domain.
struct domain_pes {
  const domains_type& domains;
  int n;
  int mine;
  HEDDLE_FN explicit domain_pes(const domains_type& all)
      : domains(all), n(all.size), mine(all.index) {}
  HEDDLE_FN int pe(int i) const { return domains.pe(domains.mine, i); }
};

/// The PEs with the same place in all domains.
struct rail_pes {
  const domains_type& domains;
  int n;
  int mine;
  HEDDLE_FN explicit rail_pes(const domains_type& all)
      : domains(all), n(all.count), mine(all.mine) {}
  HEDDLE_FN int pe(int i) const { return domains.pe(i, domains.index); }
};

/// What of the combination a PE keeps, and where.
template <class T>
struct kept_part {
  size_t begin;
  size_t end;
  T* output;

  HEDDLE_FN explicit kept_part(const all_reduce_args& args)
      : begin(args.kind == reduce_kind::reduce_scatter
                  ? static_cast<size_t>(args.team.my_pe()) * args.count
                  : 0),
        end(begin + args.count),
        output(static_cast<T*>(args.output)) {
    if (args.kind == reduce_kind::reduce && args.root != args.team.my_pe()) end = begin;
  }
  /// Of n elements of the combination, from `first` on. Without a sync.
  template <group G>
  HEDDLE_FN void take(G group, size_t first, const T* combined, size_t n) const {
    const size_t from = first > begin ? first : begin;
    const size_t to = first + n < end ? first + n : end;
    if (from < to)
      copy(group, output + (from - begin), combined + (from - first), (to - from) * sizeof(T));
  }
};

/// Of n elements those that a PE owns.
template <class T>
struct owned_part : segment<T> {
  int owners;
  HEDDLE_FN owned_part(size_t n, const domains_type& domains)
      : owned_part(n, n * sizeof(T) <= most_for_one_owner ? 1 : domains.size, domains.index) {}
  HEDDLE_FN owned_part(size_t n, int n_owners, int index)
      : segment<T>(n, n_owners, index), owners(n_owners) {}
};

/// Whether the PEs of a domain ask each other where their buffers are, of a channel's bytes.
HEDDLE_FN inline bool may_be_in_place(bool is_all_reduce, int n_pes, size_t bytes) {
  return is_all_reduce && bytes > most_for_one_owner &&
         n_pes <= channel_scratch::max_direct_pes;  // larger teams have no entries
}

template <class T, group G>
HEDDLE_FN entry enter_domain(G group, const all_reduce_args& args, const channel_scratch& scratch) {
  const size_t bytes = args.count * sizeof(T);
  const buffer_offsets mine = {args.team.symmetric_offset(args.input, bytes),
                               args.team.symmetric_offset(args.output, bytes)};
  return enter(group, args.team, scratch, domain_pes(args.topology.domains), mine,
               operation_of(args.kind));
}

/// Whether the rail of some owner of n elements is a one-shot.
template <class T>
HEDDLE_FN bool goes_by_one_shot(size_t n, const domains_type& domains) {
  const int owners = owned_part<T>(n, domains).owners;
  return segment<T>(n, owners, owners - 1).count * sizeof(T) <= channel_scratch::one_shot_capacity;
}

/// Combines, in place, what the owners of a segment have of it.
template <class T, class Op, group G>
HEDDLE_FN bool along_rail(G group, const all_reduce_args& args, const channel_scratch& scratch,
                          T* data, size_t n, reduce_step<Op> reduction) {
  const team_ref& team = args.team;
  const domains_type& domains = args.topology.domains;
  // Large teams have no slots for one-shot.
  const bool by_one_shot = team.n_pes() <= channel_scratch::max_direct_pes &&
                           n * sizeof(T) <= channel_scratch::one_shot_capacity;
  if (by_one_shot && n > 0)
    return all_reduce_one_shot_simple<T, Op>(group, team, scratch, rail_pes(domains), data, data, n,
                                             reduction, operation_of(args.kind));
  if (!by_one_shot) {
    const int k = domains.count;
    const ring_place rail{k, domains.mine, domains.pe((domains.mine + k - 1) % k, domains.index),
                          domains.pe((domains.mine + 1) % k, domains.index)};
    if (!reduce_along_ring<protocol::simple, T, Op>(group, team, rail,
                                                    scratch.links() + channel_scratch::rail_link,
                                                    data, data, n, reduction))
      return false;
  }
  // Of a team's one-shots all count all: in the next some may be members that were not in this one.
  group.sync();
  if (group.rank() == 0) ++scratch.state().one_shot_simple;
  return true;
}

/// The n elements from `first` on, of a domain that has entered with symmetric buffers.
template <class T, class Op, group G>
HEDDLE_FN bool hierarchical_piece_in_place(G group, const all_reduce_args& args,
                                           const channel_scratch& scratch, size_t first, size_t n,
                                           reduce_step<Op> reduction) {
  const team_ref& team = args.team;
  const domains_type& domains = args.topology.domains;
  const owned_part<T> mine(n, domains);
  const size_t begin = first + mine.begin;
  T* output = static_cast<T*>(args.output) + begin;
  const auto at = [&](uint64_t offset, int pe) {
    return reinterpret_cast<T*>(team.ptr(team.heap(), pe) + offset) + begin;
  };

  operand_list<T, barrier_memory::max_direct> with;
  for (int i = 0; i < domains.size; ++i) {
    const int pe = domains.pe(domains.mine, i);
    with.add_source(pe == team.my_pe() ? static_cast<const T*>(args.input) + begin
                                       : at(buffers_of(scratch, pe).input, pe));
  }
  with.add_destination(output);
  reduce_copy<T, Op>(group, with.view(), mine.count, reduction.when(false));
  group.sync();

  if (!along_rail<T, Op>(group, args, scratch, output, mine.count, reduction)) return false;
  if (!team.may_bring(group)) return false;
  for (int i = 1; i < domains.size; ++i) {
    const int pe = domains.pe(domains.mine, (domains.index + i) % domains.size);
    copy(group, at(buffers_of(scratch, pe).output, pe), output, mine.count * sizeof(T),
         team.stores_for(mine.count * sizeof(T)));
  }
  return true;
}

/// The n elements from `first` on, whose segments fit in the staging area.
template <class T, class Op, group G>
HEDDLE_FN bool hierarchical_piece(G group, const all_reduce_args& args,
                                  const channel_scratch& scratch, int channel, size_t first,
                                  size_t n, reduce_step<Op> reduction) {
  const team_ref& team = args.team;
  const domains_type& domains = args.topology.domains;
  const T* input = static_cast<const T*>(args.input) + first;
  const kept_part<T> kept(args);
  const auto meet = [&] {
    return domain_sync(group, team, domain_pes(domains), channel, operation_of(args.kind));
  };
  const owned_part<T> mine(n, domains);
  const int owners = mine.owners;
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
  if (!meet()) return false;

  operand_list<T, barrier_memory::max_direct> with;
  for (int i = 0; i < domains.size; ++i)
    with.add_source(i == domains.index ? static_cast<const void*>(input + mine.begin)
                                       : in + static_cast<size_t>(i) * slot_bytes);
  with.add_destination(out + mine.begin);
  reduce_copy<T, Op>(group, with.view(), mine.count, reduction.when(false));
  group.sync();

  if (!along_rail<T, Op>(group, args, scratch, out + mine.begin, mine.count, reduction))
    return false;

  for (int i = 1; i < domains.size; ++i)
    copy(group, team.ptr(out, neighbour(i)) + mine.begin, out + mine.begin, mine.count * sizeof(T));
  kept.take(group, first + mine.begin, out + mine.begin, mine.count);
  if (!meet()) return false;
  for (int i = 1; i < domains.size; ++i) {
    const segment<T> theirs(n, owners, (domains.index + i) % domains.size);
    kept.take(group, first + theirs.begin, out + theirs.begin, theirs.count);
  }
  group.sync();
  return true;
}

}  // namespace detail

template <class T, class Op, block_group B>
HEDDLE_FN void all_reduce_hierarchical(B block, const all_reduce_args& args, Op op) {
  const channel_scratch scratch(args.team, block.block_rank(), block.num_blocks());
  const int pieces = args.kind == reduce_kind::reduce_scatter ? args.team.n_pes() : 1;
  const detail::segment<T> part(args.count * static_cast<size_t>(pieces), block.num_blocks(),
                                block.block_rank());
  const auto& domains = args.topology.domains;
  const detail::reduce_step<Op> reduction(op);

  block.sync();  // the call before has counted
  const size_t staged = scratch.staging_capacity() / sizeof(T) -
                        static_cast<size_t>(domains.size) * cache_line / sizeof(T);
  auto way = detail::entry::staged;
  if (detail::may_be_in_place(args.kind == reduce_kind::all_reduce, args.team.n_pes(),
                              part.count * sizeof(T)))
    way = detail::enter_domain<T>(block, args, scratch);
  if (way == detail::entry::aborted) return;
  const bool in_place = way != detail::entry::staged;
  const auto meet = [&] {
    return detail::domain_sync(block, args.team, detail::domain_pes(domains), block.block_rank(),
                               operation_of(args.kind));
  };
  for (size_t at = 0; at < part.count; at += staged) {
    const size_t n = part.count - at < staged ? part.count - at : staged;
    const size_t first = part.begin + at;
    if (!(in_place ? detail::hierarchical_piece_in_place<T, Op>(block, args, scratch, first, n,
                                                                reduction)
                   : detail::hierarchical_piece<T, Op>(block, args, scratch, block.block_rank(),
                                                       first, n, reduction)))
      return;
    // The last piece may have one owner: then nothing else tells a rail that its one-shot was read.
    const bool goes_on = part.count - at > n;
    if (in_place && (!goes_on || detail::goes_by_one_shot<T>(n, domains)) && !meet()) return;
  }
}

}  // namespace heddle
