// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/coll/all_gather_by_domains.hpp>
#include <heddle/device/coll/domain_sync.hpp>

/// AllGather and AllToAll of few bytes, for teams of several domains, in each of which memory joins
/// the PEs. What a message costs counts, not its bytes: so one PE of each domain, its leader,
/// speaks for all of them, in one message to each other leader. More than its slot has goes in
/// rounds.
///
///     1  in a domain every PE brings its row to the leader: its piece, or its pieces for all PEs,
///        domain by domain
///     2  each leader sends every other what the rows have for its domain
///     3  it brings to every PE of its domain the pieces for that one, domain by domain
///
/// Rows and pieces are in the staging areas, messages in the slots of one-shot AllReduce, which
/// have halves and count calls as there: leaders exchange in every call, and a domain meets before
/// and after, so that who starts the call after the next one knows that all have read this one's.
///
/// A leader has read all rows when it sends: who has its message may go on to a call that writes
/// there (two-shot). And it brings pieces when it has all messages: what was to leave from the
/// staging area for the call before, by the network, has then arrived.
namespace heddle {

struct leaders_args {
  team_ref team{};
  operation what = operation::none;  ///< for messages
  const byte* input = nullptr;
  byte* output = nullptr;  ///< a piece of each PE
  size_t bytes = 0;        ///< of a piece
  bool to_each = false;    ///< whether there is a piece for each PE (AllToAll) or one for all
  domain_places places{};

  /// Bytes of a piece that go in one round, for which the rows of `largest` PEs, the most that a
  /// domain has, fit in one message. 0: this is no way for such a team.
  HEDDLE_FN static constexpr size_t in_a_round(int n_pes, int largest, bool to_each) {
    if (largest > barrier_memory::max_direct || n_pes > channel_scratch::max_direct_pes) return 0;
    const auto pieces = static_cast<size_t>(largest) * static_cast<size_t>(to_each ? n_pes : 1);
    const size_t most = channel_scratch::one_shot_capacity / pieces;
    return most < 16 ? most : most / 16 * 16;
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
    int largest = 1;
    for (int domain = 0; domain < places_.count; ++domain)
      if (places_.size_of(domain) > largest) largest = places_.size_of(domain);
    const size_t most = leaders_args::in_a_round(args_.team.n_pes(), largest, args_.to_each);
    for (at_ = 0; at_ < args_.bytes; at_ += most) {
      bytes_ = args_.bytes - at_ < most ? args_.bytes - at_ : most;
      if (!run_round()) return;
    }
  }

 private:
  HEDDLE_FN bool run_round() const {
    block_.sync();  // the round or call before has counted
    bring_row();
    if (!meet()) return false;
    if (is_leader()) {
      if (!exchange_with_leaders()) return false;
      for (int i = 0; i < here_.n; ++i) bring_pieces(i);
      take_back_messages();
    }
    block_.sync();
    if (block_.rank() == 0) ++scratch_.state().one_shot_simple;
    if (!meet()) return false;
    take_pieces();
    return true;
  }

  HEDDLE_FN bool is_leader() const { return here_.mine == 0; }
  HEDDLE_FN int leader_of(int domain) const { return places_.pe_at(domain, 0); }
  HEDDLE_FN bool meet() const { return domain_sync(block_, args_.team, here_, 0, args_.what); }
  /// A row's piece for the PE at `place`, counted domain by domain.
  HEDDLE_FN size_t in_row(int place) const { return args_.to_each ? piece_at(place) : 0; }
  HEDDLE_FN size_t row_bytes() const {
    return args_.to_each ? piece_at(args_.team.n_pes()) : bytes_;
  }
  HEDDLE_FN size_t piece_at(int place) const { return bytes_ * static_cast<size_t>(place); }
  /// What of the user's piece of `pe` this round is about.
  HEDDLE_FN size_t users(int pe) const { return args_.bytes * static_cast<size_t>(pe) + at_; }

  // ---- within the domain ----

  HEDDLE_FN void bring_row() const {
    byte* row = args_.team.ptr(scratch_.staging_in(), leader_of(here_.domain)) +
                row_bytes() * static_cast<size_t>(here_.mine);
    if (!args_.to_each) return copy(block_, row, args_.input + at_, bytes_);
    for (int place = 0; place < args_.team.n_pes(); ++place)
      copy(block_, row + in_row(place), args_.input + users(places_.pes[place]), bytes_);
  }
  /// To the domain's PE at `place`.
  HEDDLE_FN void bring_pieces(int place) const {
    byte* there = args_.team.ptr(scratch_.staging_out(), here_.pe(place));
    for (int domain = 0; domain < places_.count; ++domain) {
      const int size = places_.size_of(domain);
      byte* target = there + piece_at(places_.begins[domain]);
      const byte* message = message_of(domain);
      // For each of their PEs what it has for each of this domain's, or for all.
      const int each = args_.to_each ? here_.n : 1;
      if (each == 1) {
        copy(block_, target, message, piece_at(size));
        continue;
      }
      for (int i = 0; i < size; ++i)
        copy(block_, target + piece_at(i), message + piece_at(i * each + place), bytes_);
    }
  }
  HEDDLE_FN void take_pieces() const {
    for (int place = 0; place < args_.team.n_pes(); ++place)
      copy(block_, args_.output + users(places_.pes[place]),
           scratch_.staging_out() + piece_at(place), bytes_);
    block_.sync();
  }

  // ---- between leaders ----

  HEDDLE_FN uint64_t epoch() const { return scratch_.state().one_shot_simple + 1; }
  /// What the leader `pe` sends here, or, of this PE, where its messages leave from.
  HEDDLE_FN channel_scratch::one_shot_slot& slot_of(int pe) const {
    return scratch_.simple_slot(epoch() % 2, pe);
  }
  /// What a domain has for this one.
  HEDDLE_FN const byte* message_of(int domain) const {
    return slot_of(leader_of(domain)).data + (domain == here_.domain ? message_at(domain) : 0);
  }
  /// Of the message to a domain, in this PE's own slot: one for all, if all get the same.
  HEDDLE_FN size_t message_at(int domain) const {
    return in_row(places_.begins[domain]) * static_cast<size_t>(here_.n);
  }
  HEDDLE_FN size_t message_bytes(int domain) const {
    return piece_at(here_.n) * static_cast<size_t>(args_.to_each ? places_.size_of(domain) : 1);
  }

  HEDDLE_FN bool exchange_with_leaders() const {
    auto& own = slot_of(args_.team.my_pe());
    for (int domain = 0; domain < (args_.to_each ? places_.count : 1); ++domain) {
      const size_t part = message_bytes(domain) / static_cast<size_t>(here_.n);
      for (int i = 0; i < here_.n; ++i)
        copy(block_, own.data + message_at(domain) + part * static_cast<size_t>(i),
             scratch_.staging_in() + row_bytes() * static_cast<size_t>(i) +
                 in_row(places_.begins[domain]),
             part);
    }
    block_.sync();
    const auto other = [&](int i) { return (here_.domain + i) % places_.count; };
    for (int i = 1; i < places_.count; ++i) {
      const int pe = leader_of(other(i));
      if (!args_.team.is_remote(pe))
        copy(block_, args_.team.ptr(&own, pe)->data, own.data + message_at(other(i)),
             message_bytes(other(i)));
    }
    block_.sync();
    for (int i = 1 + block_.rank(); i < places_.count; i += block_.size()) {
      const int pe = leader_of(other(i));
      if (args_.team.is_remote(pe))
        args_.team.send(own.data, own.data + message_at(other(i)), message_bytes(other(i)),
                        &own.epoch, epoch(), pe);
      else
        store(&args_.team.ptr(&own, pe)->epoch, epoch(), release);
    }
    bool arrived = true;
    for (int i = 1 + block_.rank(); i < places_.count; i += block_.size()) {
      const int leader = leader_of(other(i));
      arrived &= args_.team.await_count(&slot_of(leader).epoch, epoch(), args_.what, leader);
    }
    return block_.all(arrived);
  }
  /// After all have read them.
  HEDDLE_FN void take_back_messages() const {
    block_.sync();
    for (int domain = block_.rank(); domain < places_.count; domain += block_.size())
      if (domain != here_.domain) take_back(&slot_of(leader_of(domain)).taken);
  }

  B block_;
  const leaders_args& args_;
  const domain_places& places_;
  channel_scratch scratch_;
  places_of_domain here_;
  size_t at_ = 0;     ///< in every piece, where this round begins
  size_t bytes_ = 0;  ///< of every piece, in this round
};

}  // namespace detail

/// Called by all threads of a grid of one block, on every PE of the team, if in_a_round is not 0.
template <block_group B>
HEDDLE_FN void exchange_by_leaders(B block, const leaders_args& args) {
  detail::leaders_exchange<B>(block, args).run();
}

}  // namespace heddle
