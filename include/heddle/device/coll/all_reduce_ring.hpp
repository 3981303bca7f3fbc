// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/coll/all_reduce.hpp>
#include <heddle/device/coll/all_reduce_in_halves.hpp>
#include <heddle/device/coll/all_reduce_of_two.hpp>

/// Ring AllReduce (reduce-scatter, then all-gather: Patarasuk and Yuan 2009) on links.
///
/// A round moves up to n_pes chunks. At position r of the ring, with chunk numbers modulo n:
///
// clang-format off
///     step 0                  send chunk r
///     step s = 1 ... n - 2    receive chunk r - s, combine with mine, send it on
///     step n - 1              receive chunk r + 1, combine, finish: the result; keep, send it on
///     step s = n ... 2n - 3   receive the result of chunk r - s, keep it, send it on
///     step 2n - 2             receive the result of chunk r + 2, keep it
// clang-format on
///
/// A ring of two that the network joins has ways of its own: all_reduce_of_two.hpp and
/// all_reduce_in_halves.hpp.
///
/// ReduceScatter is the first half of it, Reduce a chain to the root. PEs have their positions host
/// by host (src/coll/team_order.hpp).
///
/// Chunk c is combined along the ring from position c on, by one path: bitwise equal everywhere.
/// Elements smaller than 32 bits are rounded at every step, or, if asked for, travel as they are
/// combined and are rounded once.
namespace heddle {

namespace detail {

/// A ring, or one of those that teams are made of, as one of its PEs sees it.
struct ring_place {
  int n;         ///< PEs of the ring
  int position;  ///< of this PE
  int previous;  ///< PEs of the team
  int next;
};

/// Whether it has the ways of two that the network joins.
HEDDLE_FN inline bool is_pair_of_network(const team_ref& team, const ring_place& place,
                                         protocol proto) {
  return proto == protocol::simple && place.n == 2 && team.is_remote(place.next);
}

/// Bytes up to which two processors combine all in one hop, and beyond which in halves.
inline constexpr size_t most_in_one_hop = 1 << 18;

/// False if the team was aborted. `input` and `output` are the same or apart.
template <protocol Protocol, class T, class Op, class Wire = T, group G>
HEDDLE_APART HEDDLE_FN bool reduce_along_ring(G group, const team_ref& team,
                                              const ring_place& place, link_memory* link,
                                              const T* input, T* output, size_t count,
                                              reduce_step<Op> reduction) {
  using links_type = link_set<Protocol, T, Op, G, Wire>;
  if (is_pair_of_network(team, place, Protocol)) {
    // A GPU combines faster than any network brings; a processor does not.
    if constexpr (!HEDDLE_ON_CUDA) {
      if (count * sizeof(T) > most_in_one_hop)
        return all_reduce_in_halves<T, Op, G>(group, team, link, place.next, place.position == 0)
            .run(input, output, count, reduction);
    }
    return all_reduce_of_two<T, Op, G>(group, team, link, place.next, place.position == 0)
        .run(input, input, output, count, reduction);
  }
  const int n_pes = place.n;
  const int position = place.position;
  links_type ring(group, team);
  ring.add_receive(link, link, place.previous);
  ring.add_send(link, link, place.next);

  // Segments end where lines of elements do, of which a slot need not have a whole number.
  constexpr size_t most = links_type::capacity / per_line<T> * per_line<T>;
  const size_t round = most * static_cast<size_t>(n_pes);
  for (size_t at = 0; at < count; at += round) {
    const size_t n = count - at < round ? count - at : round;
    const int last = 2 * (n_pes - 1);
    int chunk = position;
    HEDDLE_ROLLED
    for (int step = 0; step <= last; ++step) {
      const bool combines = step < n_pes;        // my input is not in it yet
      const bool is_result = step >= n_pes - 1;  // all inputs are, with mine
      const segment<T> c(n, n_pes, chunk);
      if (!ring.exchange(step > 0, step < last, combines ? input + at + c.begin : nullptr,
                         is_result ? output + at + c.begin : nullptr, c.count,
                         reduction.when(combines && is_result)))
        return false;
      chunk = chunk == 0 ? n_pes - 1 : chunk - 1;
    }
  }
  ring.save();
  return true;
}

/// The first half alone, for pieces of `count` elements, `stride` apart in the input, one for each
/// PE in the order of the team. As above with all chunks one further: position r sends that of
/// position r - 1 first and ends with its own.
template <protocol Protocol, class T, class Op, class Wire = T, group G>
HEDDLE_APART HEDDLE_FN bool scatter_along_ring(G group, const team_ref& team,
                                               const ring_place& place, link_memory* link,
                                               const T* input, size_t stride, T* output,
                                               size_t count, reduce_step<Op> reduction) {
  if (is_pair_of_network(team, place, Protocol))
    return all_reduce_of_two<T, Op, G>(group, team, link, place.next, place.position == 0)
        .run(input + static_cast<size_t>(place.next) * stride,
             input + static_cast<size_t>(team.my_pe()) * stride, output, count, reduction);
  using links_type = link_set<Protocol, T, Op, G, Wire>;
  const int n_pes = place.n;
  links_type ring(group, team);
  ring.add_receive(link, link, place.previous);
  ring.add_send(link, link, place.next);
  for (size_t at = 0; at < count; at += links_type::capacity) {
    const size_t n = count - at < links_type::capacity ? count - at : links_type::capacity;
    const auto mine = [&](int position) {
      return input + static_cast<size_t>(team.ring_pe((position + n_pes) % n_pes)) * stride + at;
    };
    HEDDLE_ROLLED
    for (int step = 1; step <= n_pes; ++step) {
      const bool is_mine = step == n_pes;
      if (!ring.exchange(step > 1, !is_mine, mine(place.position - step),
                         is_mine ? output + at : nullptr, n, reduction.when(is_mine)))
        return false;
    }
  }
  ring.save();
  return true;
}

/// A chain along the ring, which ends at the PE whose position is `root`: it begins at the next
/// one.
template <protocol Protocol, class T, class Op, class Wire = T, group G>
HEDDLE_APART HEDDLE_FN bool reduce_to_root(G group, const team_ref& team, const ring_place& place,
                                           int root, link_memory* link, const T* input, T* output,
                                           size_t count, reduce_step<Op> reduction) {
  using links_type = link_set<Protocol, T, Op, G, Wire>;
  links_type ring(group, team);
  ring.add_receive(link, link, place.previous);
  ring.add_send(link, link, place.next);
  const bool is_root = place.position == root;
  const bool is_first = place.position == (root + 1) % place.n;
  for (size_t at = 0; at < count; at += links_type::capacity) {
    const size_t n = count - at < links_type::capacity ? count - at : links_type::capacity;
    if (!ring.exchange(!is_first, !is_root, input + at, is_root ? output + at : nullptr, n,
                       reduction.when(is_root)))
      return false;
  }
  ring.save();
  return true;
}

/// All kinds, with what travels.
template <protocol Protocol, class T, class Op, class Wire, block_group B>
HEDDLE_FN void run_ring(B block, const all_reduce_args& args, Op op) {
  link_memory* links = channel_scratch(args.team, block.block_rank(), block.num_blocks()).links();
  const channel_part<T> part(args, block.block_rank(), block.num_blocks());
  const auto& topology = args.topology;
  const int n_pes = args.team.n_pes();

  const ring_place place{n_pes, topology.ring_position, topology.ring_previous, topology.ring_next};
  const reduce_step<Op> reduction(op);
  // A Reduce of two leaves the first link's counts to the ways of two; two have no rails.
  link_memory* link =
      args.kind == reduce_kind::reduce && n_pes == 2 ? links + channel_scratch::rail_link : links;

  block.sync();  // the call before has saved its steps
  if (args.kind == reduce_kind::reduce_scatter) {
    (void)scatter_along_ring<Protocol, T, Op, Wire>(block, args.team, place, link, part.input,
                                                    args.count, part.output, part.count, reduction);
  } else if (args.kind == reduce_kind::reduce) {
    (void)reduce_to_root<Protocol, T, Op, Wire>(block, args.team, place, topology.ring_root, link,
                                                part.input, part.output, part.count, reduction);
  } else {
    (void)reduce_along_ring<Protocol, T, Op, Wire>(block, args.team, place, link, part.input,
                                                   part.output, part.count, reduction);
  }
}

}  // namespace detail

template <protocol Protocol, class T, class Op, block_group B>
HEDDLE_FN void all_reduce_ring(B block, const all_reduce_args& args, Op op) {
  if constexpr (Protocol == protocol::simple && !standard::is_same_v<detail::wide<T>, T>) {
    if (args.wide) return detail::run_ring<Protocol, T, Op, detail::wide<T>>(block, args, op);
  }
  detail::run_ring<Protocol, T, Op, T>(block, args, op);
}

}  // namespace heddle
