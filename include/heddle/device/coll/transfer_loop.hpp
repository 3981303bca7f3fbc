// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/impl/copy.hpp>
#include <heddle/device/team.hpp>

/// Transfers: any number of sends and receives between pairs of PEs, as one kernel. The k-th send
/// of a PE to another is what the other's k-th receive from it receives.
namespace heddle {

struct transfer {
  byte* memory;
  uint64_t bytes;   ///< not 0
  int32_t pe;       ///< the other; this one: then the receive comes right after its send
  int32_t is_send;  ///< else it is received
};

/// How the transfers go that a kernel takes. Every block is one channel and does its part of each;
/// the same number of them, and the same limits, at both ends.
struct transfers_args {
  /// A lane is all that goes to a PE, or all that comes from one: one after the other. What a PE
  /// sends to itself is one lane.
  static constexpr int most_lanes = 128;

  team_ref team{};
  int n = 0;
  bool pull = true;                    ///< who copies where either could (direct_way): the receiver
  size_t words_up_to = 0;              ///< bytes of a transfer
  size_t slots_up_to = 0;              ///< as well; more is direct
  size_t network_slots_up_to = 0;      ///< the same between PEs that memory does not join
  size_t streaming_from = ~size_t{0};  ///< copied round the caches, on the host
};

/// With the transfers, lane by lane.
template <int Most>
struct transfers_args_of : transfers_args {
  static constexpr int most = Most;
  transfer list[Most];
};
using few_transfers_args = transfers_args_of<128>;
using many_transfers_args = transfers_args_of<1024>;
static_assert(sizeof(many_transfers_args) <= 32'764, "CUDA's limit for what a kernel takes");

namespace detail {

/// One channel's transfers, as one thread of its block sees them. Whatever can go on does, in any
/// order but that of a pair. So sends and receives of one kernel never wait for each other, and
/// however the PEs group them, what is sent and received in pairs ends.
///
/// What a transfer waits for and does is Channel's, which derives from this:
///
///     is_ready(i)    whether that of lane i, which has begun, can go on; by one thread
///     awaited_by(i)  the word that it waits for, and the least that it waits for; by one thread
///     begin(i)       by all threads, of a transfer with another PE
///     advance(i)     what it does then, by all threads; false if the team was aborted
///
/// There are at most Lanes lanes.
template <class Channel, block_group B, int Lanes>
class transfer_loop {
 protected:
  enum class phase : uint8_t {
    begins,
    meets,   ///< waits for what the other tells of it
    moves,   ///< piece by piece
    leaves,  ///< waits until the other has left
    over
  };

  HEDDLE_FN transfer_loop(B block, const transfers_args& args, const transfer* list)
      : args_(args), list_(list), group_(block) {}

  HEDDLE_FN void run_all() {
    group_.sync();  // the call before has counted
    HEDDLE_ROLLED
    for (int k = 0; k < args_.n; ++k) {
      if (!begins_lane(k)) continue;
      at_[lanes_] = k;
      stage_[lanes_++] = phase::begins;
    }
    int left = lanes_;
    bool going = true;
    while (left > 0 && going) {
      bool moved = false;
      HEDDLE_ROLLED
      for (int i = 0; i < lanes_ && going; ++i) {
        if (is_over(i) || !group_.broadcast(group_.rank() == 0 && can_go_on(i))) continue;
        moved = true;
        if (stage_[i] != phase::begins)
          going = channel().advance(i);
        else if (of(i).pe == args_.team.my_pe())
          copy_own(i);
        else
          channel().begin(i);
        if (is_over(i) && !begins_next(i)) --left;
      }
      if (!moved) going = wait_for_any();
    }
  }

  /// That which lane i is at.
  HEDDLE_FN const transfer& of(int i) const { return list_[at_[i]]; }

  /// Whether transfer k is the first of its lane.
  HEDDLE_FN bool begins_lane(int k) const { return k == 0 || !are_of_one_lane(k - 1, k); }

  HEDDLE_FN stores stores_for(size_t bytes) const {
    return choose_stores(bytes, args_.streaming_from);
  }

  const transfers_args& args_;
  const transfer* list_;
  phase stage_[Lanes];

 private:
  HEDDLE_FN Channel& channel() { return static_cast<Channel&>(*this); }
  HEDDLE_FN const Channel& channel() const { return static_cast<const Channel&>(*this); }

  HEDDLE_FN bool is_over(int i) const { return stage_[i] == phase::over; }
  HEDDLE_FN bool are_of_one_lane(int k, int next) const {
    const transfer& a = list_[k];
    const transfer& b = list_[next];
    return a.pe == b.pe && (a.is_send == b.is_send || a.pe == args_.team.my_pe());
  }
  /// The next transfer of a lane whose last one is over. False if there is none.
  HEDDLE_FN bool begins_next(int i) {
    const int next = at_[i] + 1;
    if (next == args_.n || !are_of_one_lane(at_[i], next)) return false;
    at_[i] = next;
    stage_[i] = phase::begins;
    return true;
  }
  HEDDLE_FN bool can_go_on(int i) const {
    return stage_[i] == phase::begins || channel().is_ready(i);
  }
  HEDDLE_APART HEDDLE_FN bool wait_for_any() {
    bool arrived = true;
    if (group_.rank() == 0) {
      const int first = first_that_waits();
      const auto awaited = channel().awaited_by(first);
      auto look = [&](uint64_t& seen) {
        seen = load(awaited.word, relaxed);
        for (int i = 0; i < lanes_; ++i)
          if (!is_over(i) && can_go_on(i)) return true;
        return false;
      };
      arrived = args_.team.wait_by_thread(look, awaited.word, cmp::ge, awaited.value,
                                          of(first).is_send ? operation::send : operation::receive,
                                          of(first).pe) == wait_status::ok;
    }
    return group_.broadcast(arrived);
  }

  /// For the other PE, rather than for a place of this one's.
  HEDDLE_FN int first_that_waits() const {
    int first = lanes_;
    for (int i = lanes_ - 1; i >= 0; --i) {
      if (is_over(i)) continue;
      const auto awaited = channel().awaited_by(i);
      if (first == lanes_ || load(awaited.word, relaxed) < awaited.value) first = i;
    }
    return first;
  }

  /// A send to this PE, and the receive that follows it: each block copies its part.
  HEDDLE_FN void copy_own(int i) {
    const transfer& sent = of(i);
    const transfer& received = list_[++at_[i]];
    stage_[i] = phase::over;
    const size_t bytes = sent.bytes;
    const auto channels = static_cast<size_t>(group_.num_blocks());
    const size_t lines = (bytes + cache_line - 1) / cache_line;
    const size_t each = (lines + channels - 1) / channels * cache_line;
    const size_t begin = each * static_cast<size_t>(group_.block_rank());
    if (begin < bytes)
      copy(group_, received.memory + begin, sent.memory + begin,
           bytes - begin < each ? bytes - begin : each, stores_for(bytes));
    group_.sync();
  }

  B group_;
  int lanes_ = 0;
  int32_t at_[Lanes];  ///< in the list
};

}  // namespace detail

}  // namespace heddle
