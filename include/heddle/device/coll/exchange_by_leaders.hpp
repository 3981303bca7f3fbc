// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/coll/all_gather_by_domains.hpp>
#include <heddle/device/coll/domain_sync.hpp>

/// AllGather and AllToAll of few bytes, for teams of several domains, in each of which memory joins
/// the PEs. What a message costs counts, not its bytes: so one PE of each domain, its leader,
/// speaks for all of them, in one message to each other leader, or a few where one has no room.
/// More than there is room for goes in rounds.
///
///     1  in a domain every PE brings its row to the leader: its piece, or its pieces for the PEs
///        of the other domains
///     2  each leader sends every other what the rows have for its domain; meanwhile the PEs of
///        a domain take each other's pieces
///     3  every PE takes from its leader what the other domains have sent for it
///
/// Rows leave from, and messages come to, slots of one-shot AllReduce at the leaders, which have
/// halves and count calls as there: a row, or several, in that of the PE whose row is the first.
/// Leaders exchange in every call, after their domains have met, so that who starts the call after
/// the next one knows that all have read this one's.
///
/// What PEs of a domain have for each other in an AllToAll is in the same slots at others than the
/// leader, where no message comes.
namespace heddle {

struct leaders_args {
  team_ref team{};
  operation what = operation::none;  ///< for messages
  const byte* input = nullptr;
  byte* output = nullptr;  ///< a piece of each PE
  size_t bytes = 0;        ///< of a piece
  bool to_each = false;    ///< whether there is a piece for each PE (AllToAll) or one for all
  domain_places places{};

  /// Bytes of a piece that go in one round at most: a slot has room for what of a row leaves its
  /// domain, or stays there (never more pieces). 0: this is no way for such a team.
  HEDDLE_FN static constexpr size_t in_a_round(const domain_sizes& of, bool to_each) {
    if (of.domains < 2 || of.largest > barrier_memory::max_direct ||
        of.n_pes > channel_scratch::max_direct_pes)
      return 0;
    return channel_scratch::one_shot_capacity / in_row(of, to_each) / 16 * 16;
  }
  /// The pieces of a row that leave a domain, at most.
  HEDDLE_FN static constexpr size_t in_row(const domain_sizes& of, bool to_each) {
    if (!to_each) return 1;
    const int others = of.n_pes - of.largest * (of.domains - 1);  // so many are in any, or more
    return static_cast<size_t>(of.n_pes - (others > 1 ? others : 1));
  }
  /// The bytes of pieces, in rounds of about as many each. None if there is no way.
  struct rounds {
    size_t count;
    size_t bytes;  ///< of each but the last, which may have fewer
    HEDDLE_FN constexpr rounds(const domain_sizes& of, bool to_each, size_t of_a_piece)
        : count(0), bytes(in_a_round(of, to_each)) {
      if (bytes == 0) return;
      count = of_a_piece <= bytes ? 1 : (of_a_piece + bytes - 1) / bytes;
      const size_t even = ((of_a_piece + count - 1) / count + 15) / 16 * 16;
      if (even < bytes) bytes = even;
    }
  };
  /// Rows that go in one message, where pieces have so many bytes.
  HEDDLE_FN static constexpr int rows_at_once(const domain_sizes& of, bool to_each, size_t bytes) {
    if (bytes == 0) return of.largest;
    const size_t most = channel_scratch::one_shot_capacity / (in_row(of, to_each) * bytes);
    return most < static_cast<size_t>(of.largest) ? static_cast<int>(most) : of.largest;
  }
};

namespace detail {

/// The PEs of a domain.
struct places_of_domain {
  const domain_places& places;
  int domain;
  int n;
  int mine;
  HEDDLE_FN places_of_domain(const domain_places& all, int pe)
      : places(all), domain(all.domain[pe]), n(all.size_of(domain)), mine(all.in_domain[pe]) {}
  HEDDLE_FN int pe(int i) const { return places.pe_at(domain, i); }
};

/// Such an exchange as one thread of its block sees it.
template <block_group B>
class leaders_exchange {
 public:
  HEDDLE_FN leaders_exchange(B block, const leaders_args& args)
      : block_(block),
        args_(args),
        places_(args.places),
        scratch_(args.team, 0, 1),
        here_(args.places, args.team.my_pe()) {}

  HEDDLE_FN void run() {
    const domain_sizes sizes = places_.sizes();
    const size_t most = leaders_args::rounds(sizes, args_.to_each, args_.bytes).bytes;
    while (at_ < args_.bytes && most > 0) {
      bytes_ = args_.bytes - at_ < most ? args_.bytes - at_ : most;
      rows_ = leaders_args::rows_at_once(sizes, args_.to_each, bytes_);
      if (!run_round()) return;
      at_ += bytes_;
    }
  }

 private:
  HEDDLE_FN bool run_round() {
    block_.sync();  // the round or call before has counted
    epoch_ = scratch_.state().one_shot_simple + 1;
    bring_row();
    if (!meet()) return false;
    if (is_leader()) send_messages();
    take_from_here();
    if (is_leader() && !await_messages()) return false;
    block_.sync();
    if (block_.rank() == 0) scratch_.state().one_shot_simple = epoch_;
    if (!meet()) return false;
    take_from_others();
    return true;
  }

  HEDDLE_FN bool is_leader() const { return here_.mine == 0; }
  HEDDLE_FN bool meet() const { return domain_sync(block_, args_.team, here_, 0, args_.what); }
  HEDDLE_FN int leader_of(int domain) const { return places_.pe_at(domain, 0); }
  HEDDLE_FN size_t pieces(int n) const { return bytes_ * static_cast<size_t>(n); }
  /// What of the user's piece of `pe` this round is about.
  HEDDLE_FN size_t users(int pe) const { return args_.bytes * static_cast<size_t>(pe) + at_; }
  HEDDLE_FN const byte* input_for(int pe) const {
    return args_.input + (args_.to_each ? users(pe) : at_);
  }

  // ---- messages: rows of PEs that are behind each other in a domain ----

  /// At a leader: of the message that has the row of a domain's PE at `place`.
  HEDDLE_FN channel_scratch::one_shot_slot& slot_of(int domain, int place) const {
    return scratch_.simple_slot(epoch_ % 2, places_.pe_at(domain, place / rows_ * rows_));
  }
  HEDDLE_FN int rows_with(int domain, int place) const {
    const int left = places_.size_of(domain) - place / rows_ * rows_;
    return left < rows_ ? left : rows_;
  }
  /// What a row has for a domain.
  HEDDLE_FN size_t part_bytes(int domain) const {
    return pieces(args_.to_each ? places_.size_of(domain) : 1);
  }
  /// In the slot that messages with the row of this domain's PE at `place` leave from, where that
  /// to `domain` begins: there is one behind the other, or one for all if all get the same.
  HEDDLE_FN size_t message_at(int domain, int place) const {
    if (!args_.to_each) return 0;
    const int before = places_.begins[domain] - (domain > here_.domain ? here_.n : 0);
    return pieces(before) * static_cast<size_t>(rows_with(here_.domain, place));
  }
  HEDDLE_FN int other(int i) const { return (here_.domain + i) % places_.count; }

  /// This PE's row: to the leader, and, what is for this domain, where they find it.
  HEDDLE_FN void bring_row() const {
    byte* message =
        args_.team.ptr(&slot_of(here_.domain, here_.mine), leader_of(here_.domain))->data;
    const auto row = static_cast<size_t>(here_.mine % rows_);
    if (!args_.to_each) return copy(block_, message + bytes_ * row, args_.input + at_, bytes_);
    for (int i = 1; i < places_.count; ++i)
      bring_part(message + message_at(other(i), here_.mine) + part_bytes(other(i)) * row, other(i));
    if (here_.n > 1) bring_part(kept_for(here_.mine), here_.domain);
  }
  HEDDLE_FN void bring_part(byte* to, int domain) const {
    for (int i = 0; i < places_.size_of(domain); ++i)
      copy(block_, to + pieces(i), input_for(places_.pe_at(domain, i)), bytes_);
  }
  /// What the PE at `place` has for this domain: it keeps it itself, but a leader, who has messages
  /// there, at the next.
  HEDDLE_FN byte* kept_for(int place) const {
    return args_.team
        .ptr(&scratch_.simple_slot(epoch_ % 2, here_.pe(place)), here_.pe(place > 0 ? place : 1))
        ->data;
  }

  HEDDLE_FN void send_messages() const {
    for (int i = 1; i < places_.count; ++i) {
      const int leader = leader_of(other(i));
      if (args_.team.is_remote(leader)) continue;
      for (int place = 0; place < here_.n; place += rows_) {
        auto& slot = slot_of(here_.domain, place);
        copy(block_, args_.team.ptr(&slot, leader)->data, slot.data + message_at(other(i), place),
             message_bytes(other(i), place));
      }
    }
    block_.sync();
    for (int i = 1 + block_.rank(); i < places_.count; i += block_.size()) {
      const int leader = leader_of(other(i));
      for (int place = 0; place < here_.n; place += rows_) {
        auto& slot = slot_of(here_.domain, place);
        if (args_.team.is_remote(leader))
          args_.team.send(slot.data, slot.data + message_at(other(i), place),
                          message_bytes(other(i), place), &slot.epoch, epoch_, leader);
        else
          store(&args_.team.ptr(&slot, leader)->epoch, epoch_, release);
      }
    }
    args_.team.end_row();  // what is copied next is no wait
  }
  HEDDLE_FN size_t message_bytes(int domain, int place) const {
    return part_bytes(domain) * static_cast<size_t>(rows_with(here_.domain, place));
  }
  HEDDLE_FN bool await_messages() const {
    bool arrived = true;
    for (int i = 1 + block_.rank(); i < places_.count; i += block_.size())
      for (int place = 0; place < places_.size_of(other(i)); place += rows_)
        arrived &= args_.team.await_count(&slot_of(other(i), place).epoch, epoch_, args_.what,
                                          leader_of(other(i)));
    return block_.all(arrived);
  }

  // ---- what this PE gets ----

  HEDDLE_FN void take(int from, const byte* piece) const {
    copy(block_, args_.output + users(from), piece, bytes_);
  }
  HEDDLE_FN void take_from_here() const {
    const int me = args_.team.my_pe();
    if (args_.output + users(me) != input_for(me)) take(me, input_for(me));  // else: in place
    for (int i = 0; i < here_.n; ++i) {
      if (i == here_.mine) continue;
      const byte* piece =
          args_.to_each ? kept_for(i) + pieces(here_.mine)
                        : args_.team.ptr(&slot_of(here_.domain, i), leader_of(here_.domain))->data +
                              pieces(i % rows_);
      take(here_.pe(i), piece);
    }
  }
  HEDDLE_FN void take_from_others() const {
    const int my_place = args_.to_each ? here_.mine : 0;
    for (int i = 1; i < places_.count; ++i)
      for (int place = 0; place < places_.size_of(other(i)); ++place)
        take(places_.pe_at(other(i), place),
             args_.team.ptr(&slot_of(other(i), place), leader_of(here_.domain))->data +
                 part_bytes(here_.domain) * static_cast<size_t>(place % rows_) + pieces(my_place));
    block_.sync();
  }

  B block_;
  const leaders_args& args_;
  const domain_places& places_;
  channel_scratch scratch_;
  places_of_domain here_;
  size_t at_ = 0;     ///< in every piece, where this round begins
  size_t bytes_ = 0;  ///< of every piece, in this round
  int rows_ = 1;      ///< in each message of this round; the last of a domain may have fewer
  uint64_t epoch_ = 0;
};

}  // namespace detail

/// Called by all threads of a grid of one block, on every PE of the team, if in_a_round is not 0.
template <block_group B>
HEDDLE_FN void exchange_by_leaders(B block, const leaders_args& args) {
  detail::leaders_exchange<B>(block, args).run();
}

}  // namespace heddle
