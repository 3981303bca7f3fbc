// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/coll/all_reduce.hpp>
#include <heddle/device/coll/all_reduce_one_shot_ll128.hpp>
#include <heddle/device/coll/entry.hpp>
#include <heddle/device/coll/ll_wait.hpp>
#include <heddle/device/coll/one_shot_pieces.hpp>

/// One-shot AllReduce: every PE writes its input into a slot at every other PE,
/// and each combines all inputs itself, in the order of the PEs, so that the results are bitwise
/// equal. One hop.
///
/// Slots are doubled: call number e uses half e % 2. A PE that starts call e + 2 has finished e +
/// 1, hence has the input of every peer to e + 1, hence every peer has finished reading e: no
/// credits are needed. This holds since every PE sends to and receives from every other in each
/// call.
namespace heddle {

/// Protocol LL: data and flags in the same words. For few bytes: part.count * sizeof(T) <=
/// ll_capacity.
template <class T, class Op, group G>
HEDDLE_APART HEDDLE_FN bool all_reduce_one_shot_ll(G group, const team_ref& team,
                                                   const channel_scratch& scratch, const T* input,
                                                   T* output, size_t n,
                                                   detail::reduce_step<Op> reduction) {
  constexpr size_t per_word = 8 / sizeof(T);
  using acc = accumulator<T>;
  const int me = team.my_pe();
  const int n_pes = team.n_pes();
  const size_t words = (n + per_word - 1) / per_word;
  const auto threads = static_cast<size_t>(group.size());
  const auto rank = static_cast<size_t>(group.rank());

  // A host's threads have most words whole; CUDA's compiler takes a memcpy of them apart.
  const auto is_whole = [&](size_t w) { return !HEDDLE_ON_CUDA && (w + 1) * per_word <= n; };
  auto own_word = [&](size_t w) {
    uint64_t data;
    if (is_whole(w)) {
      memcpy(&data, input + w * per_word, sizeof data);
      return data;
    }
    T word[per_word]{};
    for (size_t e = 0; e < per_word && w * per_word + e < n; ++e) word[e] = input[w * per_word + e];
    memcpy(&data, word, sizeof data);
    return data;
  };
  const uint64_t first = own_word(rank);  // on its way while the epoch is

  group.sync();  // the call before has counted
  const uint64_t epoch = scratch.state().one_shot_ll;
  const uint32_t flag = ll_flag(epoch, team.flag_period());
  const uint64_t half = epoch % 2;
  // The first epoch of each half in a flag period rewrites the whole slot (see ll.hpp).
  const bool refresh = flag <= 2 && epoch >= 2;
  const size_t written = refresh ? channel_scratch::ll_lines : words;

#if HEDDLE_ON_CUDA
  const auto slot_of = [&](int pe) { return scratch.ll_slot(half, pe); };  // registers are dearer
#else
  const auto slot_of = [slots = scratch.ll_slot(half, 0)](int pe) {
    return slots + static_cast<size_t>(pe) * channel_scratch::ll_lines;
  };
#endif

  for (int i = 1; i < n_pes; ++i) {
    const int pe = me + i < n_pes ? me + i : me + i - n_pes;
    ll_line* slot = team.ptr(slot_of(me), pe);
    for (size_t w = rank; w < written; w += threads)
      ll_store(&slot[w], w == rank ? first : own_word(w), flag);
  }

  constexpr int together = HEDDLE_ON_CUDA ? 4 : 1;
  bool arrived = true;
  for (size_t w = rank; w < words && arrived; w += threads) {
    const size_t elements = detail::combined_of<Op>(n - w * per_word, per_word);
    typename acc::type sum[per_word]{};
    for (int begin = 0; begin < n_pes && arrived; begin += together) {
      const ll_line* line[together];
      uint32_t flags[together];
      uint64_t data[together];
      bool here[together];
      for (int i = 0; i < together; ++i) {
        const int pe = begin + i < n_pes ? begin + i : n_pes - 1;
        line[i] = slot_of(pe) + w;
        flags[i] = flag;
        here[i] = pe == me || begin + i >= n_pes;
        data[i] = begin + i == me ? own_word(w) : 0;
      }
      detail::ll_look(line, flags, data, here);
      for (int i = 0; i < together && begin + i < n_pes && arrived; ++i) {
        if (!here[i]) {
          const auto late = detail::ll_await(team, line[i], flag, operation::all_reduce, begin + i);
          data[i] = late.data;
          arrived = late.arrived;
        }
        T word[per_word];
        memcpy(word, &data[i], sizeof data[i]);
        for (size_t e = 0; e < elements; ++e)
          sum[e] =
              begin + i == 0 ? acc::widen(word[e]) : reduction.combine(sum[e], acc::widen(word[e]));
      }
    }
    if (!arrived) break;
    if (is_whole(w)) {
      T word[per_word];
      for (size_t e = 0; e < per_word; ++e) word[e] = acc::narrow(reduction.finish(sum[e]));
      memcpy(output + w * per_word, word, sizeof word);
      continue;
    }
    for (size_t e = 0; e < per_word && w * per_word + e < n; ++e)
      output[w * per_word + e] = acc::narrow(reduction.finish(sum[e]));
  }
  arrived = group.all(arrived);
  if (group.rank() == 0) scratch.state().one_shot_ll = epoch + 1;
  return arrived;
}

/// Protocol Simple: data, then a flag; among `members`, each of which calls. n * sizeof(T) <=
/// one_shot_capacity.
template <class T, class Op, group G, class Members>
HEDDLE_APART HEDDLE_FN bool all_reduce_one_shot_simple(G group, const team_ref& team,
                                                       const channel_scratch& scratch,
                                                       const Members& members, const T* input,
                                                       T* output, size_t n,
                                                       detail::reduce_step<Op> reduction,
                                                       operation what = operation::all_reduce) {
  const int me = team.my_pe();
  group.sync();  // the call before has counted
  const uint64_t epoch = scratch.state().one_shot_simple + 1;
  const uint64_t half = epoch % 2;
  const auto other = [&](int i) {  // from this PE on, so that not all send to one at the same time
    const int next = members.mine + i;
    return members.pe(next < members.n ? next : next - members.n);
  };

  // This PE's own slot is what the network takes the input from for remote peers: that has arrived
  // when they have sent theirs in the call after this.
  auto& own = scratch.simple_slot(half, me);
  bool has_remote = false;
  for (int i = 1; i < members.n; ++i) {
    if (team.is_remote(other(i)))
      has_remote = true;
    else
      detail::copy(group, team.ptr(&own, other(i))->data, input, n * sizeof(T));
  }
  if (has_remote) detail::copy(group, own.data, input, n * sizeof(T));
  group.sync();
  bool arrived = true;
  for (int i = 1 + group.rank(); i < members.n; i += group.size()) {
    const int pe = other(i);
    if (team.is_remote(pe))
      team.send(own.data, own.data, n * sizeof(T), &own.epoch, epoch, pe);
    else
      store(&team.ptr(&own, pe)->epoch, epoch, release);
  }
  for (int i = 1 + group.rank(); i < members.n; i += group.size())
    arrived &= team.await_count(&scratch.simple_slot(half, other(i)).epoch, epoch, what, other(i));
  arrived = group.all(arrived);
  if (arrived) {
    detail::operand_list<T, channel_scratch::max_direct_pes> with;
    for (int i = 0; i < members.n; ++i)
      with.add_source(i == members.mine ? static_cast<const void*>(input)
                                        : scratch.simple_slot(half, members.pe(i)).data);
    with.add_destination(output);
    detail::reduce_copy<T, Op>(group, with.view(), n, reduction);
  }
  group.sync();  // every thread has read the slots
  // Who has not arrived may still write.
  for (int i = 1 + group.rank(); arrived && i < members.n; i += group.size()) {
    auto& slot = scratch.simple_slot(half, other(i));
    take_back(&slot.taken);
    for (size_t at = 0; at < n * sizeof(T); at += cache_line)
      take_back(reinterpret_cast<uint64_t*>(slot.data + at));
  }
  if (group.rank() == 0) scratch.state().one_shot_simple = epoch;
  return arrived;
}

/// Any number of elements, one slot's worth after the other.
template <protocol Protocol, class T, class Op, block_group B>
HEDDLE_FN void all_reduce_one_shot(B block, const all_reduce_args& args, Op op) {
  if (args.kind != reduce_kind::all_reduce) {
    const bool words = Protocol == protocol::ll && !args.team.has_network();
    return detail::one_shot_pieces<T, Op, B>(block, args, op, words).run();
  }
  constexpr size_t capacity = channel_scratch::one_shot_bytes(Protocol) / sizeof(T);
  const channel_scratch scratch(args.team, block.block_rank(), block.num_blocks());
  const detail::channel_part<T> part(args, block.block_rank(), block.num_blocks());
  const detail::reduce_step<Op> reduction(op);
  const auto reduce = [&](size_t at, size_t n) {
    const T* input = part.input + at;
    T* output = part.output + at;
    if constexpr (Protocol == protocol::ll) {
      return all_reduce_one_shot_ll<T, Op>(block, args.team, scratch, input, output, n, reduction);
    } else if constexpr (Protocol == protocol::ll128) {
      return all_reduce_one_shot_ll128<T, Op>(block, args.team, scratch, input, output, n,
                                              reduction);
    } else {
      return all_reduce_one_shot_simple<T, Op>(
          block, args.team, scratch, detail::every_pe{args.team.n_pes(), args.team.my_pe()}, input,
          output, n, reduction);
    }
  };
  for (size_t at = 0; at < part.count; at += capacity)
    if (!reduce(at, part.count - at < capacity ? part.count - at : capacity)) return;
}

}  // namespace heddle
