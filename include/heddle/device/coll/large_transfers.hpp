// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/coll/scratch.hpp>
#include <heddle/device/coll/transfer_loop.hpp>

// clang-format off
/// Transfers of large teams, whose PEs have no mailboxes: a few words for each other PE, and
/// landings that all who send to this one share.
///
///     sender                                  receiver
///     request: where it has how much  ----->  waits until its receive is the next of the pair; then
///                                             copies from there, if memory reaches it,
///                                     <-----  and answers that all is taken; or answers where
///                                     <-----  a piece is to go: all to its place, if symmetric,
///                                             else as much as fits to a landing
///     brings the piece, counts it     ----->  empties the landing, asks for the next piece
///
/// A landing is lent to a sender whose request is here, and who needs nothing but the answer to go
/// on: so those who wait for one do not wait for each other.
// clang-format on
namespace heddle {

namespace detail {

/// The one channel of a large team, as one thread of its block sees it.
template <block_group B, int Lanes>
class large_transfer_channel : transfer_loop<large_transfer_channel<B, Lanes>, B, Lanes> {
  using loop = transfer_loop<large_transfer_channel<B, Lanes>, B, Lanes>;
  using loop::args_, loop::list_, loop::of, loop::stage_;
  using phase = typename loop::phase;
  friend loop;

 public:
  HEDDLE_FN large_transfer_channel(B block, const transfers_args& args, const transfer* list)
      : loop(block, args, list), block_(block), team_(args.team), scratch_(args.team, 0, 1) {}

  HEDDLE_FN void run() {
    this->run_all();
    if (block_.rank() != 0) return;
    for (int k = 0; k < args_.n; ++k)
      if (list_[k].is_send) settle(list_[k].pe);
  }

 private:
  static constexpr uint64_t not_symmetric = channel_scratch::not_symmetric;
  static constexpr int none = -1;
  struct state {
    uint64_t done;   ///< bytes that are through
    uint64_t asked;  ///< of those after them, the receiver has asked for so many
    int landing;
  };

  /// What this PE has of its transfers with `pe`, and what `pe` has of those with this one.
  HEDDLE_FN pair_memory& with(int pe) const { return scratch_.pair_with(pe); }
  HEDDLE_FN pair_memory& own() const { return with(team_.my_pe()); }
  HEDDLE_FN pair_memory* at(int pe) const { return team_.ptr(&own(), pe); }

  // ---- what a transfer waits for ----

  struct awaited {
    const uint64_t* word;
    uint64_t value;
  };
  HEDDLE_FN awaited awaited_by(int i) const {
    const pair_memory& pair = with(of(i).pe);
    if (of(i).is_send) return {&pair.answer, pair.pieces_sent + 1};
    if (stage_[i] == phase::meets) return {&pair.request, pair.receives + 1};
    return {&pair.brought, pair.pieces_received + 1};
  }
  HEDDLE_FN bool is_ready(int i) const {
    const awaited word = awaited_by(i);
    if (load(word.word, acquire) < word.value) return false;
    return of(i).is_send || stage_[i] != phase::meets || free_landings_ != 0 || !needs_landing(i);
  }
  /// Of a receive whose send has begun.
  HEDDLE_FN bool needs_landing(int i) const { return place_of(i) == not_symmetric && !reaches(i); }
  HEDDLE_FN uint64_t place_of(int i) const {
    return team_.symmetric_offset(of(i).memory, of(i).bytes);
  }
  /// Whether this PE can copy from where the bytes are.
  HEDDLE_FN bool reaches(int i) const {
    return !team_.is_remote(of(i).pe) &&
           load(&with(of(i).pe).source.offset, relaxed) != not_symmetric;
  }

  // ---- what it does then, by all threads ----

  HEDDLE_FN void begin(int i) {
    states_[i] = {0, 0, none};
    stage_[i] = phase::meets;
    if (!of(i).is_send || block_.rank() != 0) return;
    tell(of(i).pe, &pair_memory::source, {place_of(i), of(i).bytes}, &pair_memory::request,
         with(of(i).pe).sends + 1);
  }
  HEDDLE_FN bool advance(int i) {
    if (of(i).is_send) return bring(i);
    return stage_[i] == phase::meets ? meet(i) : take(i);
  }

  /// The sender's: what has been asked for.
  HEDDLE_FN bool bring(int i) {
    const transfer& t = of(i);
    pair_memory& pair = with(t.pe);
    const uint64_t target = load(&pair.target.offset, relaxed);
    const uint64_t bytes = load(&pair.target.bytes, relaxed);
    const bool is_taken = target == not_symmetric;
    if (!is_taken && !team_.may_bring(block_)) return false;
    const byte* from = t.memory + states_[i].done;
    if (!is_taken && !team_.is_remote(t.pe))
      copy(block_, team_.ptr(team_.heap() + target, t.pe), from, bytes, stores_for(bytes));
    states_[i].done += bytes;
    if (states_[i].done >= t.bytes) stage_[i] = phase::over;
    block_.sync();
    if (block_.rank() != 0) return true;
    const uint64_t count = ++pair.pieces_sent;
    if (stage_[i] != phase::meets) ++pair.sends;
    if (is_taken) return true;
    if (!team_.is_remote(t.pe)) {
      store(&at(t.pe)->brought, count, release);
      return true;
    }
    settle(t.pe);
    pair.borrowed =
        team_.send_borrowed(team_.heap() + target, from, bytes, &own().brought, count, t.pe) + 1;
    return true;
  }

  /// The receiver's: the other has begun.
  HEDDLE_FN bool meet(int i) {
    const transfer& t = of(i);
    const uint64_t bytes = load(&with(t.pe).source.bytes, relaxed);
    if (bytes != t.bytes) {
      if (block_.rank() == 0) team_.refuse(operation::receive, t.pe, t.bytes, bytes);
      return false;
    }
    if (reaches(i)) {
      const uint64_t source = load(&with(t.pe).source.offset, relaxed);
      copy(block_, t.memory, team_.ptr(team_.heap() + source, t.pe), t.bytes, stores_for(t.bytes));
      states_[i] = {t.bytes, 0, none};
      block_.sync();
      answer(i, not_symmetric, t.bytes);
      count_piece(i);
      return true;
    }
    stage_[i] = phase::moves;
    if (place_of(i) == not_symmetric) {
      while (!(free_landings_ >> ++states_[i].landing & 1)) continue;
      free_landings_ ^= 1u << states_[i].landing;
    }
    block_.sync();  // all have read the request: the next may come with the answer
    ask(i);
    return true;
  }
  /// For as much as there is room for.
  HEDDLE_FN void ask(int i) {
    state& s = states_[i];
    s.asked = of(i).bytes - s.done;
    uint64_t target = place_of(i);
    if (s.landing != none) {
      if (s.asked > channel_scratch::landing_bytes) s.asked = channel_scratch::landing_bytes;
      target = static_cast<uint64_t>(scratch_.landing(s.landing) - team_.heap());
    }
    answer(i, target, s.asked);
  }
  /// What was asked for is here.
  HEDDLE_FN bool take(int i) {
    const transfer& t = of(i);
    state& s = states_[i];
    if (s.landing != none) copy(block_, t.memory + s.done, scratch_.landing(s.landing), s.asked);
    s.done += s.asked;
    block_.sync();
    const int landing = s.landing;
    if (s.done >= t.bytes && landing != none) free_landings_ |= 1u << landing;
    count_piece(i);
    if (stage_[i] != phase::over) ask(i);
    return true;
  }

  /// Of what is received; ends what is through.
  HEDDLE_FN void count_piece(int i) {
    const bool is_over = states_[i].done >= of(i).bytes;
    if (is_over) stage_[i] = phase::over;
    if (block_.rank() != 0) return;
    pair_memory& pair = with(of(i).pe);
    ++pair.pieces_received;
    if (is_over) ++pair.receives;
  }
  HEDDLE_FN void answer(int i, uint64_t target, uint64_t bytes) const {
    if (block_.rank() != 0) return;
    tell(of(i).pe, &pair_memory::target, {target, bytes}, &pair_memory::answer,
         with(of(i).pe).pieces_received + 1);
  }

  /// A place at `pe`, and then the count that tells of it.
  HEDDLE_FN void tell(int pe, pair_memory::place pair_memory::*which,
                      const pair_memory::place& value, uint64_t pair_memory::*count,
                      uint64_t number) const {
    if (team_.is_remote(pe))
      return team_.send(reinterpret_cast<byte*>(&(own().*which)),
                        reinterpret_cast<const byte*>(&value), sizeof value, &(own().*count),
                        number, pe);
    pair_memory& there = *at(pe);
    store(&(there.*which).offset, value.offset, relaxed);
    store(&(there.*which).bytes, value.bytes, relaxed);
    store(&(there.*count), number, release);
  }
  /// Of what is more than a landing.
  HEDDLE_FN stores stores_for(uint64_t bytes) const {
    return bytes > channel_scratch::landing_bytes ? loop::stores_for(bytes) : stores::cached;
  }

  // ---- what is lent to the network, by one thread ----

  /// What was sent to `pe` has left the user's memory.
  HEDDLE_FN void settle(int pe) const {
    uint64_t& borrowed = with(pe).borrowed;
    if (borrowed != 0) team_.await_borrowed(borrowed - 1, pe);
    borrowed = 0;
  }

  B block_;
  const team_ref& team_;
  channel_scratch scratch_;
  uint32_t free_landings_ = (1u << channel_scratch::num_landings) - 1;
  state states_[Lanes];
};

}  // namespace detail

/// Runs transfers of a team of more than channel_scratch::max_direct_pes. Called by all threads of
/// the one block of a grid.
template <int Lanes = transfers_args::most_lanes, block_group B>
HEDDLE_FN void run_large_transfers(B block, const transfers_args& args, const transfer* list) {
  detail::large_transfer_channel<B, Lanes>(block, args, list).run();
}

}  // namespace heddle
