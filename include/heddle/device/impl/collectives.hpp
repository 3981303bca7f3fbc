// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/coll/all_reduce_one_shot.hpp>
#include <heddle/device/coll/all_reduce_ring.hpp>
#include <heddle/device/coll/all_reduce_two_shot.hpp>
#include <heddle/device/coll/exchange.hpp>
#include <heddle/device/coll/large_transfers.hpp>
#include <heddle/device/coll/rounds.hpp>
#include <heddle/device/coll/transfers.hpp>
#include <heddle/device/coll/tuning.hpp>
#include <heddle/device/one_block.hpp>

/// How the collectives that kernels call (collectives.hpp) go: by what the team and the bytes say
/// alone, so that every PE decides the same.
namespace heddle::detail {

inline constexpr way_limits limits_in_kernel =
    limits_by(HEDDLE_ON_CUDA ? cuda_tuning : host_tuning);
inline constexpr int nobody = exchange_args<equal_pieces>::nobody;
inline constexpr int everybody = exchange_args<equal_pieces>::everybody;

/// Bytes of the largest element that can be combined: a staging area has room for one of each PE.
inline constexpr size_t most_combined = 1024;

/// What elements of T are combined as: for heddle's own reductions integers are unsigned, so that
/// signed ones wrap.
template <class T, bool Unsigned>
struct combined_as {
  using type = T;
};
template <class T>
struct combined_as<T, true> {
  using type = standard::make_unsigned_t<T>;
};
template <class T, class Op>
using combined = typename combined_as<T, is_builtin_reduction<Op> && standard::is_integral_v<T> &&
                                             standard::is_signed_v<T>>::type;

template <class T>
HEDDLE_FN constexpr reduce_extremum extremum_of(bool is_max) {
  using acc = typename accumulator<T>::type;
  return reduce_extremum::of(is_max, sizeof(acc),
                             standard::is_integral_v<T> && standard::is_signed_v<T>,
                             !standard::is_integral_v<T>);
}

/// Runs `work(block)` in the first `most` blocks, as if they were the grid. On return all threads
/// of the block are through: what it has written may be read, and what it has read written.
template <block_group B, class Work>
HEDDLE_FN void in_few_blocks(const B& block, int most, const Work& work) {
  const int blocks = block.num_blocks() < most ? block.num_blocks() : most;
  if (block.block_rank() < blocks) work(few_blocks(block, block.block_rank(), blocks));
  block.sync();
}

HEDDLE_FN inline int channels_in_kernel(const team_ref& team) {
  return team.has_network() ? channel_scratch::network_channels(team.n_pes())
                            : channel_scratch::max_slot_channels;
}

/// Of a limit of words what one step of the channels moves: on a GPU more take longer than slots.
template <block_group B>
HEDDLE_FN size_t words_of(const B& block, const team_ref& team, size_t limit) {
  const int most = channels_in_kernel(team);
  const auto blocks = static_cast<size_t>(block.num_blocks() < most ? block.num_blocks() : most);
  const size_t once = blocks * mailbox::ll_step;
  return HEDDLE_ON_CUDA && once < limit ? once : limit;
}

template <class T, class Op, block_group B>
HEDDLE_FN void reduce_in_kernel(const B& block, const team_ref& team, reduce_kind kind,
                                const T* input, T* output, size_t n, int root, const Op& op) {
  using element = combined<T, Op>;
  static_assert(standard::is_trivially_copyable_v<T> && standard::is_default_constructible_v<T> &&
                    sizeof(T) <= most_combined && alignof(T) <= cache_line,
                "elements that are combined are trivially copyable and default constructible, of "
                "at most 1024 bytes, and aligned to at most 64");
  if (n == 0) return;
  const int n_pes = team.n_pes();
  all_reduce_args args{.team = team, .input = input, .output = output, .count = n, .kind = kind};
  args.root = root;
  const bool is_mapped = !team.has_network();
  const bool is_direct = n_pes <= channel_scratch::max_direct_pes;
  const size_t bytes = n * sizeof(T);  // from each PE to each that combines
  size_t limit = limits_in_kernel.one_shot;
  if (!is_mapped)
    limit = limits_in_kernel.network_one_shot;
  else if (HEDDLE_ON_CUDA && kind != reduce_kind::all_reduce)
    limit = limits_in_kernel.one_shot_pieces;
  else if (kind == reduce_kind::reduce)
    limit = limits_in_kernel.rooted_slots;  // leaves run ahead of their root
  const int most = channels_in_kernel(team);
  const auto blocks = static_cast<size_t>(block.num_blocks() < most ? block.num_blocks() : most);
  const bool is_small =
      (fill_lines<T> || kind == reduce_kind::all_reduce) &&
      (n_pes == 1 || (is_direct && bytes * static_cast<size_t>(n_pes - 1) <= limit &&
                      bytes <= blocks * channel_scratch::one_shot_capacity));
  const size_t tiny = blocks * channel_scratch::ll_capacity;
  const bool is_tiny =
      is_small && is_mapped && bytes <= limits_in_kernel.one_shot_ll &&
      bytes <= (kind == reduce_kind::all_reduce ? tiny : words_of(block, team, tiny));
  in_few_blocks(block, most, [&](const auto& channel) {
    if constexpr (fill_words<T>) {
      if (is_tiny) return all_reduce_one_shot<protocol::ll, element>(channel, args, op);
    }
    if (is_small) return all_reduce_one_shot<protocol::simple, element>(channel, args, op);
    if (is_direct && (is_mapped || two_shot_has_network))
      return all_reduce_two_shot<element>(channel, args, op);
    const int mine = team.ring_position();
    args.topology.ring_position = mine;
    args.topology.ring_previous = team.ring_pe(mine == 0 ? n_pes - 1 : mine - 1);
    args.topology.ring_next = team.ring_pe(mine == n_pes - 1 ? 0 : mine + 1);
    if (kind == reduce_kind::reduce) args.topology.ring_root = team.ring_position_of(root);
    args.wide = team.accumulates_f32() && n_pes > 2;  // two round once in any case
    all_reduce_ring<protocol::simple, element>(channel, args, op);
  });
}

/// Who sends what to whom, as exchange_args have it.
struct exchange_ends {
  int to;
  int from;
  equal_pieces sends;
  equal_pieces receives;
};

HEDDLE_FN inline int root_of(operation what, const exchange_ends& ends) {
  return what == operation::gather ? ends.to : ends.from;
}

/// Without its ends and pieces.
template <class Pieces, block_group B>
HEDDLE_FN exchange_args<Pieces> exchange_of(const B& block, const team_ref& team, operation what,
                                            const void* input, void* output) {
  const bool all_alike = what == operation::all_gather || what == operation::all_to_all;
  exchange_args<Pieces> args;
  args.team = team;
  args.what = what;
  args.input = static_cast<const byte*>(input);
  args.output = static_cast<byte*>(output);
  args.words_up_to =
      words_of(block, team, all_alike ? limits_in_kernel.words : limits_in_kernel.rooted_words);
  args.slots_up_to = all_alike ? limits_in_kernel.slots : limits_in_kernel.rooted_slots;
  args.network_slots_up_to = limits_in_kernel.network_slots;
  args.pull = what != operation::gather;
  return args;
}

template <block_group B>
HEDDLE_FN void exchange_in_kernel(const B& block, const team_ref& team, operation what,
                                  const void* input, void* output, const exchange_ends& ends) {
  if (ends.sends.bytes == 0) return;
  if (team.n_pes() > channel_scratch::max_direct_pes) {
    const rounds_args rounds{.team = team,
                             .what = what,
                             .input = static_cast<const byte*>(input),
                             .output = static_cast<byte*>(output),
                             .bytes = ends.sends.bytes,
                             .root = root_of(what, ends)};
    return in_few_blocks(block, channel_scratch::max_hop_channels,
                         [&](const auto& channel) { exchange_in_rounds(channel, rounds); });
  }
  exchange_args<equal_pieces> args = exchange_of<equal_pieces>(block, team, what, input, output);
  args.to = ends.to;
  args.from = ends.from;
  args.sends = ends.sends;
  args.receives = ends.receives;
  in_few_blocks(block, channels_in_kernel(team),
                [&](const auto& channel) { exchange(channel, args); });
}

/// Of PEs that have lists of their pieces.
template <block_group B>
HEDDLE_APART HEDDLE_FN void exchange_lists_in_kernel(const B& block, const team_ref& team,
                                                     operation what, const void* input,
                                                     void* output, const pointed_pieces& sends,
                                                     const pointed_pieces& receives) {
  auto args = exchange_of<pointed_pieces>(block, team, what, input, output);
  args.to = args.from = everybody;
  args.sends = sends;
  args.receives = receives;
  in_few_blocks(block, channels_in_kernel(team),
                [&](const auto& channel) { exchange(channel, args); });
}

/// What a PE sends to another and what it receives from one, at the same time; no bytes: nothing.
template <block_group B>
HEDDLE_APART HEDDLE_FN void transfer_in_kernel(const B& block, const team_ref& team,
                                               const transfer& sent, const transfer& received) {
  const int me = team.my_pe();
  const uint64_t to_itself = sent.pe == me ? sent.bytes : 0;
  const uint64_t from_itself = received.pe == me ? received.bytes : 0;
  if (to_itself != from_itself) {
    if (block.block_rank() == 0 && block.rank() == 0)
      team.refuse(operation::send, me, to_itself, from_itself);
    return;
  }
  transfer list[2];
  transfers_args args;
  if (sent.bytes > 0) list[args.n++] = sent;
  if (received.bytes > 0) list[args.n++] = received;
  if (args.n == 0) return;
  args.team = team;
  args.words_up_to = words_of(block, team, limits_in_kernel.rooted_words);
  args.slots_up_to = limits_in_kernel.rooted_slots;
  args.network_slots_up_to = limits_in_kernel.network_slots;
  if (team.n_pes() > channel_scratch::max_direct_pes)
    in_few_blocks(block, 1,
                  [&](const auto& channel) { run_large_transfers<2>(channel, args, list); });
  else
    in_few_blocks(block, channels_in_kernel(team),
                  [&](const auto& channel) { run_transfers<2>(channel, args, list); });
}

template <class T>
HEDDLE_FN transfer sends(const T* buffer, size_t n, int pe) {
  return {const_cast<byte*>(reinterpret_cast<const byte*>(buffer)), n * sizeof(T), pe, true};
}
template <class T>
HEDDLE_FN transfer receives(T* buffer, size_t n, int pe) {
  return {reinterpret_cast<byte*>(buffer), n * sizeof(T), pe, false};
}

}  // namespace heddle::detail
