// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/coll/all_reduce.hpp>

/// Ring AllReduce (reduce-scatter, then all-gather: Patarasuk and Yuan 2009) on links.
///
/// A round moves up to n_pes chunks. At position r of the ring, with chunk numbers modulo n:
///
///     send        chunk r
///     n - 2 times receive chunk r - j, combine with mine, send on          j = 1 ... n - 2
///     once        receive chunk r + 1, combine, finish: the result; keep it, send it on
///     n - 2 times receive the result of chunk r + 1 - j, keep it, send on  j = 1 ... n - 2
///     receive the result of chunk r + 2, keep it
///
/// Chunk c is combined along the ring from position c on, by one path: bitwise equal everywhere.
namespace heddle {

template <protocol Protocol, class T, class Op, block_group B>
HEDDLE_FN void all_reduce_ring(B block, const all_reduce_args& args) {
  using links_type = link_set<Protocol, T, Op, B>;
  const int n_pes = args.team.n_pes();
  const int position = args.topology.ring_position;
  link_memory* link = channel_scratch(args.team, block.block_rank(), block.num_blocks()).links();
  const detail::channel_part<T> part(args, block.block_rank(), block.num_blocks());

  block.sync();  // the call before has saved its steps
  links_type ring(block, args.team);
  ring.add_receive(link, link, args.topology.ring_previous);
  ring.add_send(link, link, args.topology.ring_next);

  const size_t round = links_type::capacity * static_cast<size_t>(n_pes);
  for (size_t at = 0; at < part.count; at += round) {
    const size_t n = part.count - at < round ? part.count - at : round;
    auto chunk = [&](int index) {
      return detail::segment<T>(n, n_pes, (index % n_pes + n_pes) % n_pes);
    };
    auto move = [&](int index, bool receive, bool input, bool output, bool send, bool finish) {
      const auto c = chunk(index);
      return ring.exchange(receive, send, input ? part.input + at + c.begin : nullptr,
                           output ? part.output + at + c.begin : nullptr, c.count,
                           detail::finish_for{finish ? n_pes : 0});
    };
    if (n_pes == 1) {
      if (!move(0, false, true, true, false, true)) return;
      continue;
    }
    bool going = move(position, false, true, false, true, false);
    for (int j = 1; j < n_pes - 1 && going; ++j)
      going = move(position - j, true, true, false, true, false);
    going = going && move(position + 1, true, true, true, true, true);
    for (int j = 1; j < n_pes - 1 && going; ++j)
      going = move(position + 1 - j, true, false, true, true, false);
    going = going && move(position + 2, true, false, true, false, false);
    if (!going) return;
  }
  ring.save();
}

}  // namespace heddle
