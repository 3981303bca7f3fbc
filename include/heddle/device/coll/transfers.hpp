// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/coll/mailbox_channel.hpp>
#include <heddle/device/coll/transfer_loop.hpp>

/// Transfers by mailboxes. Each goes one of the ways of an exchange (exchange.hpp), which both know
/// from its bytes:
///
///     words, slots    step by step, as the receiver empties them
///     direct          both tell where they have it, and meet; one of them copies, or both do where
///                     the sender does nothing but send; both leave
namespace heddle {

namespace detail {

/// One channel's part of transfers, as one thread of its block sees it.
template <block_group B, int Lanes>
class transfer_channel : mailbox_channel<B>, transfer_loop<transfer_channel<B, Lanes>, B, Lanes> {
  using base = mailbox_channel<B>;
  using loop = transfer_loop<transfer_channel<B, Lanes>, B, Lanes>;
  using base::block_, base::team_, base::from, base::at;
  using loop::args_, loop::list_, loop::of, loop::stage_;
  using phase = typename loop::phase;
  friend loop;

 public:
  HEDDLE_FN transfer_channel(B block, const transfers_args& args, const transfer* list)
      : base(block, args.team, operation::receive), loop(block, args, list) {}

  HEDDLE_FN void run() {
    parts_ = parts_of_sent();
    this->run_all();
    this->settle_all();
    // What has come without a wait must not leave others waiting for what was sent.
    if (!HEDDLE_ON_CUDA && block_.rank() == 0 && receives()) team_.end_row();
  }

 private:
  struct state {
    uint32_t step;
    way by;
    bool met;  ///< and must leave
  };

  HEDDLE_FN bool receives() const {
    for (int k = 0; k < args_.n; ++k)
      if (!list_[k].is_send) return true;
    return false;
  }
  HEDDLE_FN bool is_direct(const transfer& t) const {
    return t.bytes > (team_.is_remote(t.pe) ? args_.network_slots_up_to : args_.slots_up_to);
  }
  HEDDLE_FN static mailbox::role role_of(const transfer& t) {
    return t.is_send ? mailbox::sender : mailbox::receiver;
  }
  HEDDLE_FN static mailbox::role role_of_other(const transfer& t) {
    return t.is_send ? mailbox::receiver : mailbox::sender;
  }
  HEDDLE_FN uint64_t& meetings_of(const transfer& t) const {
    return from(t.pe).meetings[role_of(t)];
  }
  HEDDLE_FN mailbox::meeting& place_of_other(const transfer& t) const {
    return from(t.pe).place[role_of_other(t)];
  }
  HEDDLE_FN mailbox_word& left_by_other(const transfer& t) const {
    return from(t.pe).left[role_of_other(t)];
  }
  /// meeting::parts of what this PE sends.
  HEDDLE_FN uint64_t parts_of_sent() const {
    int sends = 0;
    bool copies = false;
    for (int k = 0; k < args_.n; ++k) {
      const transfer& t = list_[k];
      copies |= !t.is_send || t.pe == team_.my_pe();
      sends += this->begins_lane(k) && is_direct(t) && !team_.is_remote(t.pe);
    }
    return this->parts_for(sends, copies);
  }
  HEDDLE_FN piece part(int i) const { return this->part_of(states_[i].by, 0, of(i).bytes); }

  // ---- what a transfer waits for ----

  using awaited = typename base::awaited;
  HEDDLE_FN awaited awaited_by(int i) const {
    const transfer& t = of(i);
    const state& s = states_[i];
    if (stage_[i] == phase::meets) return {&place_of_other(t).count, meetings_of(t) + 1};
    if (stage_[i] == phase::leaves) return {&left_by_other(t).value, meetings_of(t) + 1};
    if (t.is_send) return this->credit_for(t.pe, part(i), s.step);
    return s.by == way::words ? this->first_word_for(t.pe, s.step)
                              : this->slot_for(t.pe, part(i), s.step);
  }
  HEDDLE_FN bool is_ready(int i) const {
    const transfer& t = of(i);
    const state& s = states_[i];
    if (stage_[i] == phase::moves) {
      if (t.is_send && this->has_known_room(t.pe, part(i), s.step)) return true;
      if (!t.is_send && s.by == way::words) return this->has_first_word(t.pe, s.step);
    }
    const awaited word = awaited_by(i);
    return load(word.word, acquire) >= word.value;
  }

  // ---- what it does then, by all threads ----

  HEDDLE_FN bool advance(int i) {
    if (stage_[i] == phase::meets) return meet(i);
    if (stage_[i] == phase::moves) return move(i);
    finish(i);
    return true;
  }

  HEDDLE_FN void begin(int i) {
    const transfer& t = of(i);
    states_[i] = {0, way::none, false};
    if (!is_direct(t)) {
      states_[i].by = this->stepwise_way(t.pe, t.bytes, args_.words_up_to);
      return begin_steps(i);
    }
    states_[i].met = true;
    stage_[i] = phase::meets;
    if (block_.rank() != 0) return;
    const uint64_t place = team_.symmetric_offset(t.memory, t.bytes);
    const uint64_t count = meetings_of(t) + 1;
    this->tell_place(t.pe, role_of(t),
                     t.is_send ? mailbox::meeting{count, place, t.bytes, 0, 0, parts_, 0}
                               : mailbox::meeting{count, 0, 0, place, t.bytes, 0, 0});
  }
  HEDDLE_FN void begin_steps(int i) {
    stage_[i] = phase::moves;
    if (part(i).steps() == 0) return end_steps(i);
    expect(i);
  }
  HEDDLE_FN void expect(int i) const {
    if (!of(i).is_send && block_.rank() == 0)
      this->make_room(of(i).pe, part(i), states_[i].step, false);
  }

  HEDDLE_FN bool meet(int i) {
    const transfer& t = of(i);
    const auto& theirs = place_of_other(t);
    const uint64_t mine = team_.symmetric_offset(t.memory, t.bytes);
    const uint64_t source = t.is_send ? mine : load_settled(theirs.source);
    const uint64_t target = t.is_send ? load_settled(theirs.target) : mine;
    const uint64_t bytes =
        t.is_send ? load_settled(theirs.target_bytes) : load_settled(theirs.source_bytes);
    if (bytes != t.bytes) {
      if (block_.rank() == 0)
        team_.refuse(t.is_send ? operation::send : operation::receive, t.pe, t.bytes, bytes);
      return false;
    }
    states_[i].by = this->direct_way(t.pe, source, target, args_.pull);
    if (has_flag(states_[i].by)) {
      begin_steps(i);
      return true;
    }
    const piece all = part(i);
    const bool by_receiver = states_[i].by == way::by_receiver;
    const uint64_t parts = t.is_send ? parts_ : load_settled(theirs.parts);
    const size_t first = by_receiver ? this->first_part(all, parts, target) : all.bytes;
    const size_t copied = t.is_send ? first : all.bytes - first;
    byte* here = t.memory + all.offset;
    byte* there = nullptr;
    if (copied > 0) {
      if (t.is_send && !team_.may_bring(block_)) return false;
      there = team_.heap() + (t.is_send ? target : source) + all.offset;
      const stores how = this->stores_for(t.bytes);
      if (!t.is_send)
        copy(block_, here + first, team_.ptr(there, t.pe) + first, copied, how);
      else if (!team_.is_remote(t.pe))
        copy(block_, team_.ptr(there, t.pe), here, copied, how);
    }
    leave(i, there, here, t.is_send ? copied : 0);
    return true;
  }

  HEDDLE_FN bool move(int i) {
    const transfer& t = of(i);
    const piece it = part(i);
    const size_t step = states_[i].step;
    byte* memory = t.memory + it.offset_in(step);
    bool going = true;
    if (t.is_send) {
      if (!team_.is_remote(t.pe)) this->write(t.pe, it, step, memory);
      block_.sync();
      if (block_.rank() == 0 && has_flag(it.by)) this->fill_slot(t.pe, it, step, memory);
    } else {
      if (it.by == way::words)
        going = this->read_words(t.pe, step, memory, it.bytes_in(step));
      else
        copy(block_, memory, this->slot_data(t.pe, it, step), it.bytes_in(step));
      going = block_.all(going);
      if (block_.rank() == 0) this->give_back(t.pe, it, step, false);
    }
    if (++states_[i].step == it.steps())
      end_steps(i);
    else
      expect(i);
    return going;
  }
  HEDDLE_FN void end_steps(int i) {
    if (states_[i].met)
      leave(i, nullptr, nullptr, 0);
    else
      finish(i);
  }

  /// `bytes`: of this PE's part, that it brings to a remote PE.
  HEDDLE_FN void leave(int i, byte* there, const byte* here, size_t bytes) {
    const transfer& t = of(i);
    stage_[i] = phase::leaves;
    block_.sync();
    if (block_.rank() == 0)
      this->tell_left(t.pe, role_of(t), meetings_of(t) + 1, there, here,
                      team_.is_remote(t.pe) ? bytes : 0);
  }

  HEDDLE_FN void finish(int i) {
    const transfer& t = of(i);
    block_.sync();  // every thread has read the counts
    if (block_.rank() == 0) {
      if (states_[i].step > 0) this->count_units(t.pe, part(i), t.is_send);
      if (states_[i].met) {
        take_back(&place_of_other(t).taken);
        take_back(&left_by_other(t).taken);
        ++meetings_of(t);
      }
    }
    block_.sync();
    stage_[i] = phase::over;
  }

  uint64_t parts_ = 0;  ///< parts_of_sent()
  state states_[Lanes];
};

}  // namespace detail

/// Runs transfers. Called by all threads of every block of a grid; at most
/// channel_scratch::max_slot_channels blocks.
template <int Lanes = transfers_args::most_lanes, block_group B>
HEDDLE_FN void run_transfers(B block, const transfers_args& args, const transfer* list) {
  detail::transfer_channel<B, Lanes>(block, args, list).run();
}

}  // namespace heddle
