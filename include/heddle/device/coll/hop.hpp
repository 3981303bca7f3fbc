// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/coll/scratch.hpp>
#include <heddle/device/team.hpp>

namespace heddle::detail {

/// Hop k of a team in one channel: this PE sends to the PE 2^k behind it in the order of the team,
/// and receives from the one 2^k before it. A pair of counted slots like a link's (link.hpp), of
/// bytes alone; a PE has log2 of the team's size of them, whatever it reaches by them.
template <block_group B>
class hop {
 public:
  static constexpr size_t capacity = hop_memory::slot_bytes;

  HEDDLE_FN hop(B block, const team_ref& team, const channel_scratch& scratch, int k)
      : block_(block),
        team_(team),
        memory_(scratch.hop(k)),
        next_((team.my_pe() + (1 << k)) % team.n_pes()),
        previous_((team.my_pe() + team.n_pes() - (1 << k)) % team.n_pes()),
        sent_(memory_.sent),
        received_(memory_.received) {}

  /// Fills one slot with `n` bytes: `fill(slot)` runs on all threads. False, on all alike, if the
  /// team was aborted.
  template <class Fill>
  HEDDLE_FN bool send(size_t n, Fill fill) {
    bool going = true;
    if (sent_ >= hop_memory::slots && block_.rank() == 0)
      going = team_.await_count(&memory_.credit, sent_ + 1 - hop_memory::slots,
                                operation::link_send, next_);
    if (!block_.all(going)) return false;
    byte* slot = memory_.slot[sent_ % hop_memory::slots];
    byte* outgoing = memory_.outgoing[sent_ % hop_memory::slots];
    const bool is_remote = team_.is_remote(next_);
    fill(is_remote ? outgoing : team_.ptr(slot, next_));
    block_.sync();
    ++sent_;
    if (block_.rank() == 0) {
      if (is_remote)
        team_.send(slot, outgoing, n, &memory_.tail, sent_, next_);
      else
        store(team_.ptr(&memory_.tail, next_), sent_, release);
    }
    return true;
  }

  /// Empties one slot: `drain(slot)` runs on all threads, and says whether to go on. False, on all
  /// alike, if not or if the team was aborted.
  template <class Drain>
  HEDDLE_FN bool receive(Drain drain) {
    bool going = true;
    if (block_.rank() == 0)
      going = team_.await_count(&memory_.tail, received_ + 1, operation::link_receive, previous_);
    if (!block_.all(going)) return false;
    if (!drain(static_cast<const byte*>(memory_.slot[received_ % hop_memory::slots]))) return false;
    block_.sync();
    ++received_;
    if (block_.rank() == 0) {
      if (team_.is_remote(previous_))
        team_.tell(&memory_.credit, received_, previous_);
      else
        store(team_.ptr(&memory_.credit, previous_), received_, release);
    }
    return true;
  }

  /// Keeps the counts for the next call. Once, at the end, by all threads.
  HEDDLE_FN void save() {
    block_.sync();
    if (block_.rank() != 0) return;
    memory_.sent = sent_;
    memory_.received = received_;
  }

 private:
  B block_;
  const team_ref& team_;
  hop_memory& memory_;
  int next_;
  int previous_;
  uint64_t sent_;
  uint64_t received_;
};

}  // namespace heddle::detail
