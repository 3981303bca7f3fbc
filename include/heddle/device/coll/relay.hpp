// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/coll/mailbox_channel.hpp>

// clang-format off
/// Relay: a broadcast down a tree, in which each PE sends on what is here before the rest has come.
/// The tree is the caller's: a chain brings the bytes over every link once, two levels (hosts, then
/// the PEs of each) take the fewest hops.
///
///     root ------------> a PE of another host ------> its neighbours
///        by the network                     by memory
///
/// An edge goes one of the ways of an exchange (exchange.hpp), which both its ends know:
///
///     words, slots,   as there, step by step
///     packets
///     direct          the two tell each other where they have the bytes. Then each chunk that is at
///                     the parent is brought to the child, and counted there; or is counted, and the
///                     child copies it. The child says when it has all.
// clang-format on
namespace heddle {

/// A broadcast as the kernels of one PE take it. Every block is one channel and does its part.
struct relay_args {
  static constexpr int most = channel_scratch::max_direct_pes;

  team_ref team{};
  const byte* input = nullptr;  ///< the root's
  byte* output = nullptr;
  size_t bytes = 0;        ///< not 0
  size_t words_up_to = 0;  ///< as exchange_args have it
  size_t packets_up_to = 0;
  size_t slots_up_to = 0;
  size_t network_slots_up_to = 0;
  size_t streaming_from = ~size_t{0};
  size_t chunk = 0;  ///< bytes of a channel that go at a time, directly
  int parent = -1;   ///< -1: this is the root
  int num_children = 0;
  int16_t children[most] = {};  ///< those with the longest way to go first
};

namespace detail {

/// One channel's part of a relay, as one thread of its block sees it.
template <block_group B>
class relay_channel : mailbox_channel<B> {
  using base = mailbox_channel<B>;
  using base::block_, base::team_, base::from, base::at;

 public:
  HEDDLE_FN relay_channel(B block, const relay_args& args)
      : base(block, args.team, operation::broadcast),
        args_(args),
        bytes_(this->part_of(way::none, 0, args.bytes).bytes),
        source_(is_root() ? args.input : args.output) {}

  HEDDLE_FN void run() {
    if (bytes_ == 0) return;  // on every PE
    block_.sync();            // the call before has counted
    if (meet() && relay() && part()) count();
    this->settle_all();
  }

 private:
  HEDDLE_FN bool is_root() const { return args_.parent < 0; }
  HEDDLE_FN int child(int i) const { return args_.children[i]; }
  HEDDLE_FN bool is_direct(int pe) const {
    return args_.bytes > (team_.is_remote(pe) ? args_.network_slots_up_to : args_.slots_up_to);
  }
  /// Calls each(pe, role of this PE) of the edges that are direct.
  template <class Each>
  HEDDLE_FN void for_direct_edges(const Each& each) const {
    if (!is_root() && is_direct(args_.parent)) each(args_.parent, mailbox::receiver);
    for (int i = 0; i < args_.num_children; ++i)
      if (is_direct(child(i))) each(child(i), mailbox::sender);
  }
  HEDDLE_FN static mailbox::role other(mailbox::role role) {
    return role == mailbox::sender ? mailbox::receiver : mailbox::sender;
  }
  HEDDLE_FN uint64_t& meetings_with(int pe, mailbox::role role) const {
    return from(pe).meetings[role];
  }

  // ---- before: which way each edge goes ----

  HEDDLE_FN bool meet() {
    if (block_.rank() == 0) {
      for_direct_edges([&](int pe, mailbox::role role) {
        const bool sends = role == mailbox::sender;
        const uint64_t mine = place();
        this->tell_place(pe, role,
                         {meetings_with(pe, role) + 1, sends ? mine : 0, sends ? args_.bytes : 0,
                          sends ? 0 : mine, sends ? 0 : args_.bytes, 0, 0});
      });
    }
    bool going = true;
    if (block_.rank() == 0) {
      for_direct_edges([&](int pe, mailbox::role role) { going = going && learn(pe, role); });
    }
    if (!block_.all(going)) return false;
    if (!is_root()) by_parent_ = way_of(args_.parent, mailbox::receiver);
    for (int i = 0; i < args_.num_children; ++i) by_[i] = way_of(child(i), mailbox::sender);
    block_.sync();  // who has all may call again, and say so where this call's ways are read
    return true;
  }
  HEDDLE_FN bool learn(int pe, mailbox::role role) const {
    const auto& theirs = from(pe).place[other(role)];
    if (!team_.await_count(&theirs.count, meetings_with(pe, role) + 1, this->what_, pe))
      return false;
    const uint64_t bytes =
        load(role == mailbox::sender ? &theirs.target_bytes : &theirs.source_bytes, relaxed);
    if (bytes == args_.bytes) return true;
    team_.refuse(this->what_, pe, args_.bytes, bytes);
    return false;
  }
  HEDDLE_FN uint64_t place() const { return team_.symmetric_offset(source_, args_.bytes); }
  HEDDLE_FN way way_of(int pe, mailbox::role role) const {
    if (!is_direct(pe))
      return this->stepwise_way(pe, args_.bytes, args_.words_up_to, args_.packets_up_to);
    const auto& theirs = from(pe).place[other(role)];
    const bool sends = role == mailbox::sender;
    return this->direct_way(pe, sends ? place() : load_settled(theirs.source),
                            sends ? load_settled(theirs.target) : place(), true);
  }

  // ---- the bytes ----

  HEDDLE_FN piece along(way by) const { return this->part_of(by, 0, args_.bytes); }
  HEDDLE_FN static bool is_stepwise(way by) { return by == way::words || has_flag(by); }
  HEDDLE_FN size_t quantum_of(way by) const {
    return is_stepwise(by) ? along(by).capacity() : args_.chunk;
  }
  HEDDLE_FN size_t end_of(way by, size_t step) const {
    const size_t end = (step + 1) * quantum_of(by);
    return end < bytes_ ? end : bytes_;
  }

  HEDDLE_FN bool relay() {
    size_t received = 0;
    size_t here = 0;
    const size_t at_once = is_root() ? least_quantum() : 0;
    while (here < bytes_) {
      if (is_root()) {
        here = bytes_ - here < at_once ? bytes_ : here + at_once;
      } else {
        if (!receive(received)) return false;
        here = end_of(by_parent_, received++);
      }
      for (int i = 0; i < args_.num_children; ++i)
        while (sent_[i] * quantum_of(by_[i]) < bytes_ && end_of(by_[i], sent_[i]) <= here)
          if (!send(i, sent_[i]++)) return false;
    }
    if (is_root() && args_.output != args_.input) {
      const piece mine = along(way::none);
      copy(block_, args_.output + mine.offset, args_.input + mine.offset, mine.bytes, how());
    }
    return true;
  }
  HEDDLE_FN size_t least_quantum() const {
    size_t least = args_.chunk;
    for (int i = 0; i < args_.num_children; ++i)
      if (quantum_of(by_[i]) < least) least = quantum_of(by_[i]);
    return least;
  }
  HEDDLE_FN stores how() const { return choose_stores(args_.bytes, args_.streaming_from); }

  /// From the parent, into the output: all threads see it there.
  HEDDLE_FN bool receive(size_t step) {
    const int pe = args_.parent;
    const piece in = along(by_parent_);
    bool going = true;
    if (!is_stepwise(by_parent_)) {
      if (block_.rank() == 0)
        going = team_.await_count(&from(pe).chunks.value, from(pe).chunks_received + step + 1,
                                  this->what_, pe);
      if (!block_.all(going)) return false;
      if (by_parent_ == way::by_receiver) {
        const size_t at = in.offset + step * args_.chunk;
        const byte* there =
            team_.ptr(team_.heap(), pe) + load_settled(from(pe).place[mailbox::sender].source);
        // What is sent on is read again.
        copy(block_, args_.output + at, there + at, end_of(by_parent_, step) - step * args_.chunk,
             args_.num_children == 0 ? how() : stores::cached);
        block_.sync();
      }
      return true;
    }
    byte* target = args_.output + in.offset_in(step);
    if (in.by == way::words) {
      going = this->read_words(pe, step, target, in.bytes_in(step));
    } else {
      if (block_.rank() == 0) {
        this->make_room(pe, in, step, false);
        going = this->slot_is_filled(pe, in, step);
      }
      going = block_.all(going);
      if (going) copy(block_, target, this->slot_data(pe, in, step), in.bytes_in(step));
    }
    if (!block_.all(going)) return false;
    if (block_.rank() == 0) this->give_back(pe, in, step, false);
    return true;
  }

  /// What is here, to child i.
  HEDDLE_FN bool send(int i, size_t step) {
    const int pe = child(i);
    const piece out = along(by_[i]);
    if (!is_stepwise(by_[i])) return send_chunk(pe, out, step);
    bool going = true;
    if (block_.rank() == 0) going = this->has_room(pe, out, step, false);
    if (!block_.all(going)) return false;
    const byte* source = source_ + out.offset_in(step);
    if (!team_.is_remote(pe)) this->write(pe, out, step, source);
    if (out.by == way::words) return true;
    block_.sync();
    if (block_.rank() == 0) this->fill_slot(pe, out, step, source);
    return true;
  }
  HEDDLE_FN bool send_chunk(int pe, const piece& out, size_t step) {
    if (!team_.may_bring(block_)) return false;
    const size_t at = out.offset + step * args_.chunk;
    const size_t n = end_of(out.by, step) - step * args_.chunk;
    const uint64_t number = from(pe).chunks_sent + step + 1;
    uint64_t* count = &from(team_.my_pe()).chunks.value;
    // Who copies by itself need have told no place.
    const auto target = [&] {
      return team_.heap() + load_settled(from(pe).place[mailbox::receiver].target) + at;
    };
    if (team_.is_remote(pe)) {
      if (block_.rank() == 0) this->lend(pe, number, target(), source_ + at, n, count, number);
      return true;
    }
    if (out.by == way::by_sender) copy(block_, team_.ptr(target(), pe), source_ + at, n, how());
    block_.sync();
    if (block_.rank() == 0) store(team_.ptr(count, pe), number, release);
    return true;
  }

  // ---- after: who copies from this PE has done so ----

  HEDDLE_FN bool part() const {
    block_.sync();
    bool going = true;
    if (block_.rank() == 0) {
      for_direct_edges([&](int pe, mailbox::role role) {
        if (role == mailbox::receiver) this->tell_left(pe, role, meetings_with(pe, role) + 1);
      });
      for_direct_edges([&](int pe, mailbox::role role) {
        if (role == mailbox::sender && going)
          going = team_.await_count(&from(pe).left[mailbox::receiver].value,
                                    meetings_with(pe, role) + 1, this->what_, pe);
      });
    }
    return block_.all(going);
  }

  /// What the next call goes on from.
  HEDDLE_FN void count() const {
    if (block_.rank() != 0) return;
    if (!is_root()) {
      mailbox& box = from(args_.parent);
      if (is_stepwise(by_parent_)) {
        this->count_units(args_.parent, along(by_parent_), false);
      } else {
        box.chunks_received += (bytes_ + args_.chunk - 1) / args_.chunk;
        take_back(&box.chunks.taken);
      }
    }
    for (int i = 0; i < args_.num_children; ++i) {
      if (is_stepwise(by_[i]))
        this->count_units(child(i), along(by_[i]), true);
      else
        from(child(i)).chunks_sent += sent_[i];
    }
    for_direct_edges([&](int pe, mailbox::role role) {
      ++meetings_with(pe, role);
      take_back(&from(pe).place[other(role)].taken);
      if (role == mailbox::sender) take_back(&from(pe).left[mailbox::receiver].taken);
    });
  }

  const relay_args& args_;
  size_t bytes_;        ///< of this channel's part
  const byte* source_;  ///< of what is sent on
  way by_parent_ = way::none;
  way by_[relay_args::most] = {};
  size_t sent_[relay_args::most] = {};  ///< steps, to each child
};

}  // namespace detail

/// Runs a relay. Called by all threads of every block of a grid, on every PE of the team; at most
/// channel_scratch::max_slot_channels blocks.
template <block_group B>
HEDDLE_FN void relay(B block, const relay_args& args) {
  detail::relay_channel<B>(block, args).run();
}

}  // namespace heddle
