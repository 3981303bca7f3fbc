// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/impl/line_moves.hpp>
#include <heddle/device/impl/reduce_copy.hpp>
#include <heddle/device/impl/reduce_wide.hpp>
#include <heddle/device/ll.hpp>
#include <heddle/device/team.hpp>

/// Links: one direction between two PEs in a channel.
///
///     sender                                     receiver
///     ------                                     --------
///     waits: credit + slots > step               waits: tail > step (Simple), flags (LL, LL128)
///     writes slot[step % slots]  ------------->  reads slot[step % slots]
///     tail = step + 1 (release)  ------------->
///                                <-------------  credit = step + 1 (release)
///
/// Steps count up for ever on both sides and are kept in memory between calls; nothing is reset.
/// Invariants: the receiver's step <= the sender's step <= credit + slots; a slot is written only
/// while the sender holds its credit. Each protocol has steps and slots of its own (LL and LL128
/// write no tail).
namespace heddle {

enum class protocol : int { simple = 0, ll = 1, ll128 = 2 };

/// The memory of a link index on one PE, which receives from one peer by `tail` and slots, and
/// sends to another (or the same) with `credit`.
struct link_memory {
  static constexpr int slots = 8;
  static constexpr size_t simple_slot = 65536;  ///< bytes
  static constexpr size_t ll_slot = 8192;       ///< bytes of data
  static constexpr size_t ll128_slot = 16384;   ///< bytes of data

  /// Bytes of data of a slot.
  HEDDLE_FN static constexpr size_t slot_bytes(protocol proto) {
    return proto == protocol::simple ? simple_slot : proto == protocol::ll ? ll_slot : ll128_slot;
  }

  struct counters {
    alignas(cache_line) uint64_t tail;    ///< steps that the sender has filled
    alignas(cache_line) uint64_t credit;  ///< steps that the receiver of what I send has emptied
    alignas(cache_line) uint64_t sent;    ///< my next step as sender
    uint64_t received;                    ///< my next step as receiver
  };

  counters steps[3];  ///< by protocol
  alignas(cache_line) ll_line ll[slots][ll_slot / 8];
  ll128_line ll128[slots][ll128_line::count_for(ll128_slot)];
  alignas(cache_line) byte simple[slots][simple_slot];
  /// What a sender fills for a remote peer: the network takes it from here, until the credit says
  /// that it has arrived.
  alignas(cache_line) byte outgoing[slots][simple_slot];

  /// All slots in one piece, for those who divide them in another way.
  HEDDLE_FN byte* all_simple() { return reinterpret_cast<byte*>(&simple); }
  HEDDLE_FN byte* all_outgoing() { return reinterpret_cast<byte*>(&outgoing); }
};

/// One end of a link: the memory here and the peer's.
struct link_end {
  link_memory* mine = nullptr;  ///< a sender's counters, or a receiver's slots
  /// The receiver's slots, or the sender's credit word, where they are mapped; null: remote.
  link_memory* peers = nullptr;
  link_memory* there = nullptr;  ///< the same as a symmetric address
  int peer = -1;
  uint64_t step = 0;
};

/// The links of one PE in one pattern (a ring, one direction of a tree), moved in lock-step: each
/// exchange takes one slot from every receive link, combines, and fills one slot of every send
/// link. Elements travel as Wire: T, or with Simple and at most one link of each direction wide<T>.
template <protocol Protocol, class T, class Op, group G, class Wire = T>
class link_set {
  static constexpr bool is_wide = !standard::is_same_v<Wire, T>;
  static_assert(!is_wide || Protocol == protocol::simple);

 public:
  static constexpr int max_links = 2;  ///< of each direction: the children of a tree
  /// Elements that one exchange can move.
  static constexpr size_t capacity = link_memory::slot_bytes(Protocol) / sizeof(Wire);

  HEDDLE_FN link_set(G group, const team_ref& team) : group_(group), team_(team) {}

  /// This PE sends with `mine`'s counters into `receivers` (a link memory of the heap) of `peer`.
  HEDDLE_FN void add_send(link_memory* mine, link_memory* receivers, int peer) {
    send_[n_send_++] = {mine, team_.ptr(receivers, peer), receivers, peer, mine->steps[which].sent};
  }
  /// This PE receives in `mine` what `peer` sends, and returns credit in `senders` of `peer`.
  HEDDLE_FN void add_receive(link_memory* mine, link_memory* senders, int peer) {
    receive_[n_receive_++] = {mine, team_.ptr(senders, peer), senders, peer,
                              mine->steps[which].received};
  }

  /// value[i] = the received values in the order of the links, then input[i] (if not null),
  /// combined, and finished if `reduction` says so; written to output[i] (if not null) and to every
  /// send link. n <= capacity. The receive or the send links may be left out of a step. False, on
  /// all threads alike, if the team was aborted.
  ///
  /// On CUDA a function of its own: kernels call it from several places, and with the lines that
  /// are under way it takes most of a thread's registers.
  HEDDLE_APART HEDDLE_FN bool exchange(bool receive, bool send, const T* input, T* output, size_t n,
                                       detail::reduce_step<Op> reduction) {
    receiving_ = receive ? n_receive_ : 0;
    sending_ = send ? n_send_ : 0;
    if (!wait_for_links()) return false;
    bool arrived = true;
    if constexpr (is_wide) {
      move_wide(input, output, n, reduction);
    } else if constexpr (Protocol == protocol::simple) {
      move_slots(input, output, n, reduction);
    } else if constexpr (Protocol == protocol::ll) {
      arrived = move_words(input, output, n, reduction);
    } else {
      arrived = detail::move_lines<T, Op>(group_, team_, lines(input), input, output, n, reduction,
                                          operation::link_receive);
    }
    if (!group_.all(arrived)) return false;
    advance(n);
    return true;
  }

  /// Keeps the steps for the next call. Called once, at the end, by all threads.
  HEDDLE_APART HEDDLE_FN void save() {
    group_.sync();
    if (group_.rank() != 0) return;
    for (int i = 0; i < n_send_; ++i) send_[i].mine->steps[which].sent = send_[i].step;
    for (int i = 0; i < n_receive_; ++i) receive_[i].mine->steps[which].received = receive_[i].step;
  }

 private:
  static constexpr bool is_simple = Protocol == protocol::simple;
  static constexpr int which = static_cast<int>(Protocol);

  HEDDLE_FN static int slot_of(const link_end& end) {
    return static_cast<int>(end.step % link_memory::slots);
  }

  /// Thread i waits for link i: a sender for credit, a receiver of Simple for the tail.
  HEDDLE_FN bool wait_for_links() {
    bool ready = true;
    for (int i = group_.rank(); i < sending_ + receiving_; i += group_.size()) {
      if (i < sending_) {
        const auto& end = send_[i];
        if (end.step >= link_memory::slots)
          ready &=
              team_.await_count(&end.mine->steps[which].credit, end.step + 1 - link_memory::slots,
                                operation::link_send, end.peer);
      } else if (is_simple) {
        const auto& end = receive_[i - sending_];
        ready &= team_.await_count(&end.mine->steps[which].tail, end.step + 1,
                                   operation::link_receive, end.peer);
      }
    }
    return group_.all(ready);
  }

  /// The lines of one exchange: what was received comes first, then `input`.
  struct line_ends {
    static constexpr int lines = 2;
    static constexpr int sources = max_links;

    HEDDLE_FN int count() const { return receiving + (has_input ? 1 : 0); }
    HEDDLE_FN int own() const { return has_input ? receiving : -1; }
    HEDDLE_FN detail::line_end source(int i) const { return from[i]; }
    HEDDLE_FN int n_destinations() const { return sending; }
    HEDDLE_FN detail::line_end destination(int i) const { return to[i]; }

    int receiving, sending;
    bool has_input;
    detail::line_end from[max_links], to[max_links];
  };

  HEDDLE_FN line_ends lines(const T* input) const {
    line_ends ends{receiving_, sending_, input != nullptr, {}, {}};
    for (int i = 0; i < receiving_; ++i) {
      const auto& end = receive_[i];
      ends.from[i] = {end.mine->ll128[slot_of(end)], end.step + 1, end.peer};
    }
    for (int i = 0; i < sending_; ++i) {
      const auto& end = send_[i];
      ends.to[i] = {end.peers->ll128[slot_of(end)], end.step + 1, end.peer};
    }
    return ends;
  }

  HEDDLE_FN void move_slots(const T* input, T* output, size_t n,
                            detail::reduce_step<Op> reduction) {
    detail::operand_list<T, max_links + 1> with;
    for (int i = 0; i < receiving_; ++i)
      with.add_source(receive_[i].mine->simple[slot_of(receive_[i])]);
    if (input) with.add_source(input);
    for (int i = 0; i < sending_; ++i) with.add_destination(slot_to(send_[i]));
    if (output) with.add_destination(output);
    detail::reduce_copy<T, Op>(group_, with.view(), n, reduction);
  }
  HEDDLE_FN void move_wide(const T* input, T* output, size_t n, detail::reduce_step<Op> reduction) {
    const byte* received =
        receiving_ > 0 ? receive_[0].mine->simple[slot_of(receive_[0])] : nullptr;
    byte* sent = sending_ > 0 ? slot_to(send_[0]) : nullptr;
    detail::reduce_wide<T, Op>(group_, reinterpret_cast<const Wire*>(received), input,
                               reinterpret_cast<Wire*>(sent), output, n, reduction);
  }
  HEDDLE_FN static byte* slot_to(const link_end& end) {
    return end.peers ? end.peers->simple[slot_of(end)] : end.mine->outgoing[slot_of(end)];
  }

  /// A word is 8 bytes of data: one to eight elements, the last word of a step perhaps fewer.
  HEDDLE_FN bool move_words(const T* input, T* output, size_t n,
                            detail::reduce_step<Op> reduction) {
    using acc = accumulator<T>;
    constexpr size_t per_word = 8 / sizeof(T);
    const uint32_t period = team_.flag_period();
    const size_t words = (n + per_word - 1) / per_word;
    const bool is_raw = detail::is_passed_on<T>(receiving_ + (input ? 1 : 0), reduction);
    bool arrived = true;
    for (auto w = static_cast<size_t>(group_.rank()); w < words && arrived;
         w += static_cast<size_t>(group_.size())) {
      const size_t first = w * per_word;
      const size_t elements = n - first < per_word ? n - first : per_word;
      const size_t combined = detail::combined_of<Op>(elements, per_word);
      typename acc::type value[per_word]{};
      T result[per_word]{};
      bool empty = true;
      auto take = [&](const T* word) {
        if (is_raw) return void(memcpy(result, word, sizeof result));
        for (size_t e = 0; e < combined; ++e)
          value[e] = empty ? acc::widen(word[e]) : reduction.combine(value[e], acc::widen(word[e]));
        empty = false;
      };
      for (int i = 0; i < receiving_ && arrived; ++i) {
        T word[per_word];
        arrived = receive_word(receive_[i], w, period, word);
        take(word);
      }
      if (input) {
        T word[per_word]{};
        for (size_t e = 0; e < elements; ++e) word[e] = input[first + e];
        take(word);
      }
      for (size_t e = 0; e < combined && !is_raw; ++e)
        result[e] = acc::narrow(reduction.finish(value[e]));
      if (output)
        for (size_t e = 0; e < elements; ++e) output[first + e] = result[e];
      uint64_t data;
      memcpy(&data, result, sizeof data);
      for (int i = 0; i < sending_; ++i)
        ll_store(&send_[i].peers->ll[slot_of(send_[i])][w], data, ll_flag(send_[i].step, period));
    }
    refresh(words, period);
    return arrived;
  }

  HEDDLE_FN bool receive_word(const link_end& end, size_t w, uint32_t period, T* word) {
    const ll_line* line = &end.mine->ll[slot_of(end)][w];
    const uint32_t flag = ll_flag(end.step, period);
    uint64_t data = 0;
    auto look = [&](uint64_t& seen) {
      const bool here = ll_load(line, flag, data);
      seen = load(&line->flag0, relaxed);
      return here;
    };
    const auto status =
        team_.wait_by_thread(look, line, cmp::eq, flag, operation::link_receive, end.peer);
    memcpy(word, &data, sizeof data);
    return status == wait_status::ok;
  }

  /// In the first `slots` steps of a flag period, writes the rest of the slot too.
  HEDDLE_FN void refresh(size_t words, uint32_t period) {
    for (int i = 0; i < sending_; ++i) {
      const uint32_t flag = ll_flag(send_[i].step, period);
      if (flag > link_memory::slots || send_[i].step < link_memory::slots) continue;
      for (size_t w = words + static_cast<size_t>(group_.rank()); w < link_memory::ll_slot / 8;
           w += static_cast<size_t>(group_.size()))
        ll_store(&send_[i].peers->ll[slot_of(send_[i])][w], 0, flag);
    }
  }

  /// group_.all has passed: every thread has written and read its part of the slots. `n`: elements
  /// of each.
  HEDDLE_FN void advance(size_t n) {
    for (int i = group_.rank(); i < sending_ + receiving_; i += group_.size()) {
      if (i < sending_) {
        const auto& end = send_[i];
        if (!end.peers)
          send_outgoing(end, n);
        else if (is_simple)
          store(&end.peers->steps[which].tail, end.step + 1, release);
      } else {
        const auto& end = receive_[i - sending_];
        if (end.peers)
          store(&end.peers->steps[which].credit, end.step + 1, release);
        else
          team_.tell(&end.there->steps[which].credit, end.step + 1, end.peer);
      }
    }
    for (int i = 0; i < sending_; ++i) ++send_[i].step;
    for (int i = 0; i < receiving_; ++i) ++receive_[i].step;
  }

  HEDDLE_FN void send_outgoing(const link_end& end, size_t n) {
    if constexpr (is_simple)
      team_.send(end.there->simple[slot_of(end)], end.mine->outgoing[slot_of(end)],
                 n * sizeof(Wire), &end.there->steps[which].tail, end.step + 1, end.peer);
  }

  G group_;
  const team_ref& team_;
  link_end send_[max_links];
  link_end receive_[max_links];
  int n_send_ = 0;
  int n_receive_ = 0;
  int sending_ = 0;  ///< in the current step
  int receiving_ = 0;
};

}  // namespace heddle
