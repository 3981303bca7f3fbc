// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/coll/mailbox_channel.hpp>

// clang-format off
/// Exchange: every PE sends a piece of memory to some PEs and receives one from some. All
/// collectives that combine nothing are exchanges, or made of them where hosts are to be entered once
/// (all_gather_by_domains.hpp; a broadcast may also go by relay.hpp):
///
///                    sends                          receives
///     broadcast      the root: all to everybody     everybody: all from the root
///     all_gather     all to everybody               a piece from everybody
///     all_to_all     a piece to everybody           a piece from everybody
///     gather         all to the root                the root: a piece from everybody
///     scatter        the root: a piece to everybody everybody: all from the root
///
/// Each pair of PEs goes its own way, which both know from the bytes of the piece:
///
///     words    LL words into the receiver's mailbox: one crossing of the memory
///     slots    a slot of the mailbox at a time, then its flag: one hop, two copies
///     packets  the same in no more of the mailbox than the piece has: where the network joins them,
///              a piece of up to 32 KiB at once; where PEs share processors and a root, or who sends to
///              it, is to get far in its turn
///     direct   the two tell each other where the piece is and where it goes, and one of them
///              copies it there, or both do where the sender has nothing else to copy: two hops,
///              one copy. What is in the heap on neither side goes by slots.
///
/// Words, slots and packets go in steps, in each of which a pair moves one in either direction:
/// mailbox.hpp says what that gives for nothing.
// clang-format on
namespace heddle {

/// What goes to PE i: `bytes` from i * stride on.
struct equal_pieces {
  size_t bytes = 0;
  size_t stride = 0;

  HEDDLE_FN size_t bytes_of(int) const { return bytes; }
  HEDDLE_FN size_t offset_of(int pe) const { return stride * static_cast<size_t>(pe); }
};

/// Pieces of any size, anywhere.
struct listed_pieces {
  static constexpr int most = channel_scratch::max_direct_pes;
  uint64_t bytes[most] = {};
  uint64_t offset[most] = {};

  HEDDLE_FN size_t bytes_of(int pe) const { return bytes[pe]; }
  HEDDLE_FN size_t offset_of(int pe) const { return offset[pe]; }
};

/// The same, of elements of `unit` bytes, as lists in memory have them.
struct pointed_pieces {
  const size_t* counts = nullptr;
  const size_t* displacements = nullptr;  ///< null: all at the start
  size_t unit = 0;
  int whose = -1;  ///< whose count is everybody's; -1: each has its own

  HEDDLE_FN size_t bytes_of(int pe) const { return counts[whose < 0 ? pe : whose] * unit; }
  HEDDLE_FN size_t offset_of(int pe) const { return displacements ? displacements[pe] * unit : 0; }
};

/// An exchange as its kernels take it. Every block is one channel and does its part of each piece.
template <class Pieces>
struct exchange_args {
  static constexpr int nobody = -2;
  static constexpr int everybody = -1;

  team_ref team{};
  operation what = operation::none;  ///< for messages
  const byte* input = nullptr;
  byte* output = nullptr;
  int to = nobody;  ///< a PE, or nobody, or everybody
  int from = nobody;
  size_t words_up_to = 0;  ///< bytes of a piece
  /// Between mapped host PEs. At most mailbox::simple_capacity: whatever came before, there is
  /// room.
  size_t packets_up_to = 0;
  size_t slots_up_to = 0;              ///< as well; more is direct
  size_t network_slots_up_to = 0;      ///< the same between PEs that memory does not join
  bool pull = true;                    ///< who copies where either could (direct_way): the receiver
  size_t streaming_from = ~size_t{0};  ///< bytes that are copied round the caches, on the host
  Pieces sends{};                      ///< of `input`; a piece of no bytes is not sent
  Pieces receives{};                   ///< of `output`
};

namespace detail {

/// One channel's part of an exchange, as one thread of its block sees it.
template <class Pieces, block_group B>
class exchange_channel : mailbox_channel<B> {
  using base = mailbox_channel<B>;
  using base::block_, base::team_, base::after, base::from, base::at;

 public:
  HEDDLE_FN exchange_channel(B block, const exchange_args<Pieces>& args)
      : base(block, args.team, args.what), args_(args) {}

  /// False, on all threads alike, if not all has come.
  HEDDLE_FN bool run() {
    block_.sync();  // the call before has counted
    bool going = true;
    if (run_one_step(going)) return going;
    const bool any_meets = tell_places();
    if (any_meets) copy_own(own_part::first);
    going = !any_meets || learn_places();
    const size_t steps = going ? most_steps() : 0;
    if (steps == 0 && !any_meets) copy_own();
    for (size_t step = 0; going && step < steps; ++step) going = move_slots(step, any_meets);
    // Before the others are told that this PE has left: they may write where they have their next
    // pieces then.
    for (int i = 1 + block_.rank(); going && i < team_.n_pes(); i += block_.size())
      this->count_steps_with(after(i), sent(after(i)), received(after(i)), this->meets(after(i)));
    if (going && any_meets) going = move_directly();
    this->settle_all();
    return going;
  }

 private:
  static constexpr int everybody = exchange_args<Pieces>::everybody;

  // ---- what goes where ----

  HEDDLE_FN size_t bytes_to(int pe) const { return is_sent_to(pe) ? args_.sends.bytes_of(pe) : 0; }
  HEDDLE_FN size_t bytes_from(int pe) const {
    return is_received_from(pe) ? args_.receives.bytes_of(pe) : 0;
  }
  HEDDLE_FN bool is_direct(size_t bytes, int pe) const {
    return bytes > (team_.is_remote(pe) ? args_.network_slots_up_to : args_.slots_up_to);
  }
  HEDDLE_FN uint64_t& meetings_with(int pe) const { return from(pe).meetings[mailbox::both]; }
  HEDDLE_FN bool meets(int pe) const {
    return is_direct(bytes_to(pe), pe) || is_direct(bytes_from(pe), pe);
  }
  HEDDLE_FN uint64_t place_to(int pe) const {
    return team_.symmetric_offset(place_in(args_.input, args_.sends.offset_of(pe)), bytes_to(pe));
  }
  HEDDLE_FN uint64_t place_from(int pe) const {
    return team_.symmetric_offset(place_in(args_.output, args_.receives.offset_of(pe)),
                                  bytes_from(pe));
  }

  /// The same at both ends of the piece.
  HEDDLE_FN way way_of(size_t bytes, int pe, uint64_t source, uint64_t target) const {
    if (bytes == 0) return way::none;
    if (!is_direct(bytes, pe))
      return this->stepwise_way(pe, bytes, args_.words_up_to, args_.packets_up_to);
    return this->direct_way(pe, source, target, args_.pull);
  }
  HEDDLE_FN piece sent(int pe) const {
    size_t bytes = bytes_to(pe);
    way by = way::none;
    if (is_direct(bytes, pe)) {
      const auto& theirs = from(pe).place[mailbox::both];
      by = way_of(bytes, pe, place_to(pe), load_settled(theirs.target));
      const uint64_t wanted = load_settled(theirs.target_bytes);
      if (wanted < bytes) bytes = wanted;
    } else {
      by = way_of(bytes, pe, 0, 0);
    }
    return this->part_of(by, args_.sends.offset_of(pe), bytes);
  }
  HEDDLE_FN piece received(int pe) const {
    size_t bytes = bytes_from(pe);
    way by = way::none;
    if (is_direct(bytes, pe)) {
      const auto& theirs = from(pe).place[mailbox::both];
      by = way_of(bytes, pe, load_settled(theirs.source), place_from(pe));
      const uint64_t given = load_settled(theirs.source_bytes);
      if (given < bytes) bytes = given;
    } else {
      by = way_of(bytes, pe, 0, 0);
    }
    return this->part_of(by, args_.receives.offset_of(pe), bytes);
  }

  HEDDLE_FN stores stores_for(size_t bytes) const {
    return choose_stores(bytes, args_.streaming_from);
  }
  /// A call in which PEs meet waits twice, for a hop each, and has half of it to do meanwhile.
  enum class own_part { all, first, second };
  /// By all threads, without a sync.
  HEDDLE_FN void copy_own(own_part which = own_part::all) const {
    const int me = team_.my_pe();
    piece own =
        this->part_of(way::none, 0, bytes_to(me) < bytes_from(me) ? bytes_to(me) : bytes_from(me));
    const stores how = stores_for(own.bytes);
    if (which != own_part::all) {
      const size_t first = own.bytes / 2 / cache_line * cache_line;
      own.bytes = which == own_part::first ? first : own.bytes - first;
      if (which == own_part::second) own.offset += first;
    }
    if (own.bytes == 0) return;
    const byte* source = args_.input + args_.sends.offset_of(me) + own.offset;
    byte* target = args_.output + args_.receives.offset_of(me) + own.offset;
    if (source != target) copy(block_, target, source, own.bytes, how);
  }

  // ---- few bytes, most calls: the same way to all, in one step ----

  /// False if this is not such a call.
  HEDDLE_FN bool run_one_step(bool& going) const {
    if constexpr (standard::is_same_v<Pieces, equal_pieces>) {
      const size_t bytes = args_.sends.bytes;
      if (args_.receives.bytes != bytes) return false;
      if (team_.has_network()) return run_one_step_apart(going);
      if (bytes > args_.slots_up_to) return false;
      const way by =
          this->stepwise_way(team_.my_pe(), bytes, args_.words_up_to, args_.packets_up_to);
      const piece each = this->part_of(by, 0, bytes);
      if (each.bytes > each.capacity()) return false;
      if (each.bytes == 0) return true;
      if constexpr (!HEDDLE_ON_CUDA) {
        if (by == way::packets) {
          going = exchange_one_step<way::packets>(each.offset, each.bytes);
          return true;
        }
      }
      if (by == way::words)
        going = exchange_one_step<way::words>(each.offset, each.bytes);
      else
        going = exchange_one_step<way::slots>(each.offset, each.bytes);
      return true;
    }
    return false;
  }
  /// The same where memory joins no two.
  HEDDLE_FN bool run_one_step_apart([[maybe_unused]] bool& going) const {
#if !HEDDLE_ON_CUDA
    const size_t bytes = args_.sends.bytes;
    const piece each = this->part_of(way::packets, 0, bytes);
    if (bytes <= args_.network_slots_up_to && each.bytes <= each.capacity() && team_.is_apart()) {
      if (each.bytes > 0) going = exchange_one_step<way::packets, true>(each.offset, each.bytes);
      this->settle_all();
      return true;
    }
#endif
    return false;
  }
  HEDDLE_FN bool is_sent_to(int pe) const { return args_.to == everybody || args_.to == pe; }
  HEDDLE_FN bool is_received_from(int pe) const {
    return args_.from == everybody || args_.from == pe;
  }
  /// By a host's only thread, which agrees with no others between one PE's data and its flag.
  template <way By>
  HEDDLE_FN bool exchange_alone(const piece& each) const {
    const int n_pes = team_.n_pes();
    constexpr bool words = By == way::words;
    for (int i = 1; i < n_pes; ++i) {
      const int pe = after(i);
      if (!is_sent_to(pe)) continue;
      const mailbox::flow& flow = this->flow_with(pe, By);
      if (!this->has_room(pe, each, 0, flow)) return false;
      this->write(pe, each, 0, args_.input + each.offset + args_.sends.offset_of(pe), flow);
      if (!words) this->fill_slot(pe, each, 0, nullptr);
    }
    copy_own();
    for (int i = 1; i < n_pes; ++i) {
      const int pe = after(i);
      const bool sends = is_sent_to(pe);
      const bool receives = is_received_from(pe);
      if (receives) {
        byte* target = args_.output + each.offset + args_.receives.offset_of(pe);
        if (words ? !this->read_words(pe, 0, target, each.bytes)
                  : !this->slot_is_filled(pe, each, 0))
          return false;
        if (!words) copy(block_, target, this->slot_data(pe, each, 0), each.bytes);
        this->give_back(pe, each, 0, sends);
      }
      this->count_one_step_with(pe, each, sends, receives);
      if (receives && !words) this->expect_slot(pe);
    }
    return true;
  }
  /// `Apart`: all others are remote.
  template <way By, bool Apart = false>
  HEDDLE_APART HEDDLE_FN bool exchange_one_step(size_t offset, size_t bytes) const {
    const piece each{By, offset, bytes};
    if constexpr (!Apart && is_lone_thread<B>) return exchange_alone<By>(each);
    const int n_pes = team_.n_pes();
    const int me = team_.my_pe();
    constexpr bool words = By == way::words;
    // In registers, as what follows.
    const int to = args_.to;
    const int from = args_.from;
    const byte* input = place_in(args_.input, offset);
    byte* output = place_in(args_.output, offset);
    const Pieces outgoing = args_.sends;
    const Pieces incoming = args_.receives;
    const auto after = [=](int i) { return me + i < n_pes ? me + i : me + i - n_pes; };
    const auto is_sent_to = [=](int pe) { return to == everybody || to == pe; };
    const auto is_received_from = [=](int pe) { return from == everybody || from == pe; };
    const auto target_of = [=](int pe) { return output + incoming.offset_of(pe); };
    bool going = true;
    for (int i = 1 + block_.rank(); Apart && i < n_pes; i += block_.size())
      if (is_received_from(after(i))) this->make_room(after(i), each, 0, false);
    for (int i = 1; Apart && i < n_pes; ++i)
      if (is_sent_to(after(i))) going &= this->has_room(after(i), each, 0, false);
    mailbox::flow next{};  // on its way while another is sent to
    if (!Apart) next = this->flow_with(after(1), By);
    HEDDLE_ROLLED
    for (int i = 1; !Apart && i < n_pes; ++i) {
      const int pe = after(i);
      const mailbox::flow flow = next;
      if (i + 1 < n_pes) next = this->flow_with(after(i + 1), By);
      if (!is_sent_to(pe)) continue;
      going &= this->has_room(pe, each, 0, flow);
      if (going) this->write(pe, each, 0, input + outgoing.offset_of(pe), flow);
    }
    if (!words) {
      going = block_.all(going);
      for (int i = 1 + block_.rank(); going && i < n_pes; i += block_.size())
        if (is_sent_to(after(i)))
          this->fill_slot(after(i), each, 0,
                          Apart ? input + outgoing.offset_of(after(i)) : nullptr);
    }
    if (is_sent_to(me) && is_received_from(me)) {
      const byte* source = input + outgoing.offset_of(me);
      byte* target = target_of(me);
      if (source != target) copy(block_, target, source, each.bytes);
    }
    if (!words) {
      for (int i = 1 + block_.rank(); going && i < n_pes; i += block_.size())
        if (is_received_from(after(i))) going = this->slot_is_filled(after(i), each, 0);
      going = block_.all(going);
    }
#if HEDDLE_ON_CUDA
    // What a GPU has to wait for is under way together.
    constexpr int together = 4;
    for (int begin = 1; words && going && begin < n_pes; begin += together) {
      const auto pe_of = [=](int i) {
        return begin + i < n_pes && is_received_from(after(begin + i)) ? after(begin + i) : -1;
      };
      going = this->template read_words_of<together>(
          pe_of, [=](int i) { return target_of(pe_of(i)); }, 0, each.bytes);
    }
#endif
    for (int i = 1; !(words && HEDDLE_ON_CUDA) && going && i < n_pes; ++i) {
      const int pe = after(i);
      if (!is_received_from(pe)) continue;
      if (words)
        going = this->read_words(pe, 0, target_of(pe), each.bytes);
      else
        copy(block_, target_of(pe), this->slot_data(pe, each, 0), each.bytes);
    }
    going = block_.all(going);
    for (int i = 1 + block_.rank(); going && i < n_pes; i += block_.size()) {
      const int pe = after(i);
      const bool sends = is_sent_to(pe);
      const bool receives = is_received_from(pe);
      if (receives) this->give_back(pe, each, 0, sends);
      this->count_one_step_with(pe, each, sends, receives);
      if (receives && !words && !Apart) this->expect_slot(pe);
    }
    return going;
  }

  // ---- words and slots ----

  HEDDLE_FN size_t most_steps() const {
    size_t most = 0;
    for (int i = 1; i < team_.n_pes(); ++i) {
      const size_t out = sent(after(i)).steps();
      const size_t in = received(after(i)).steps();
      if (out > most) most = out;
      if (in > most) most = in;
    }
    return most;
  }

  HEDDLE_FN bool move_slots(size_t step, bool any_meets) {
    const int n_pes = team_.n_pes();
    bool going = true;
    for (int i = 1 + block_.rank(); team_.has_network() && i < n_pes; i += block_.size()) {
      const piece in = received(after(i));
      if (step < in.steps())
        this->make_room(after(i), in, step, step > 0 && sent(after(i)).steps() >= step);
    }
    for (int i = 1; i < n_pes; ++i) {
      const int pe = after(i);
      const piece out = sent(pe);
      if (step >= out.steps()) continue;
      const bool answered = step > 0 && received(pe).steps() >= step;
      going &= this->has_room(pe, out, step, answered);
      if (going && !team_.is_remote(pe))
        this->write(pe, out, step, args_.input + out.offset_in(step));
    }
    going = block_.all(going);
    for (int i = 1 + block_.rank(); going && i < n_pes; i += block_.size()) {
      const piece out = sent(after(i));
      if (step < out.steps() && has_flag(out.by))
        this->fill_slot(after(i), out, step, args_.input + out.offset_in(step));
    }
    if (step == 0 && !any_meets) copy_own();

    for (int i = 1 + block_.rank(); going && i < n_pes; i += block_.size()) {
      const piece in = received(after(i));
      if (step < in.steps() && has_flag(in.by)) going = this->slot_is_filled(after(i), in, step);
    }
    going = block_.all(going);
    for (int i = 1; going && i < n_pes; ++i) {
      const piece in = received(after(i));
      if (step >= in.steps()) continue;
      byte* target = args_.output + in.offset_in(step);
      if (in.by == way::words)
        going = this->read_words(after(i), step, target, in.bytes_in(step));
      else
        copy(block_, target, this->slot_data(after(i), in, step), in.bytes_in(step));
    }
    going = block_.all(going);
    for (int i = 1 + block_.rank(); going && i < n_pes; i += block_.size()) {
      const piece in = received(after(i));
      if (step < in.steps()) this->give_back(after(i), in, step, step < sent(after(i)).steps());
    }
    return going;
  }

  // ---- directly ----

  /// Tells the PEs with which this one has direct pieces where they are. Whether there are any.
  HEDDLE_FN bool tell_places() {
    bool any = false;
    parts_ = parts_of_sent();
    for (int i = 1; i < team_.n_pes(); ++i) {
      const int pe = after(i);
      if (!meets(pe)) continue;
      any = true;
      if ((i - 1) % block_.size() != block_.rank()) continue;
      this->tell_place(pe, mailbox::both,
                       {meetings_with(pe) + 1, place_to(pe), bytes_to(pe), place_from(pe),
                        bytes_from(pe), parts_, 0});
    }
    return any;
  }
  HEDDLE_FN bool learn_places() const {
    bool going = true;
    for (int i = 1 + block_.rank(); i < team_.n_pes(); i += block_.size()) {
      const int pe = after(i);
      if (meets(pe))
        going &= team_.await_count(&from(pe).place[mailbox::both].count, meetings_with(pe) + 1,
                                   this->what_, pe);
    }
    return block_.all(going);
  }

  HEDDLE_FN bool move_directly() {
    bool brings = false;  // through the network, when all has been copied
    for (int i = 1; i < team_.n_pes(); ++i) {
      const int pe = after(i);
      const auto& theirs = from(pe).place[mailbox::both];
      const piece in = received(pe);
      if (in.by == way::by_receiver) {
        const size_t done = this->first_part(in, load_settled(theirs.parts), place_from(pe));
        const byte* there = team_.ptr(team_.heap(), pe) + load_settled(theirs.source) +
                            (in.offset - args_.receives.offset_of(pe));
        copy(block_, args_.output + in.offset + done, there + done, in.bytes - done,
             stores_for(in.bytes));
      }
      const piece out = sent(pe);
      size_t bytes = 0;
      if (out.by == way::by_sender) bytes = out.bytes;
      if (out.by == way::by_receiver)
        bytes = this->first_part(out, parts_, load_settled(theirs.target));
      if (bytes == 0) continue;
      brings |= team_.is_remote(pe);
      if (!team_.may_bring(block_)) return false;
      if (!team_.is_remote(pe))
        copy(block_, team_.ptr(target_of(pe, out), pe), args_.input + out.offset, bytes,
             stores_for(out.bytes));
    }
    block_.sync();
    if (brings && !team_.may_bring(block_)) return false;
    for (int i = 1 + block_.rank(); i < team_.n_pes(); i += block_.size())
      if (meets(after(i))) leave(after(i));  // which sends to remote PEs
    copy_own(own_part::second);
    bool going = true;
    for (int i = 1 + block_.rank(); i < team_.n_pes(); i += block_.size()) {
      const int pe = after(i);
      if (!meets(pe)) continue;
      going &= team_.await_count(&from(pe).left[mailbox::both].value, meetings_with(pe) + 1,
                                 this->what_, pe);
      take_back(&from(pe).place[mailbox::both].taken);
      take_back(&from(pe).left[mailbox::both].taken);
    }
    going = block_.all(going);  // every thread has read the counts
    for (int i = 1 + block_.rank(); going && i < team_.n_pes(); i += block_.size())
      if (meets(after(i))) ++meetings_with(after(i));
    return going;
  }
  /// meeting::parts of what this PE sends.
  HEDDLE_FN uint64_t parts_of_sent() const {
    const int me = team_.my_pe();
    int sends = 0;
    bool copies =
        bytes_to(me) > 0 && bytes_from(me) > 0 &&
        args_.input + args_.sends.offset_of(me) != args_.output + args_.receives.offset_of(me);
    for (int i = 1; i < team_.n_pes(); ++i) {
      const int pe = after(i);
      copies |= bytes_from(pe) > 0;
      sends += is_direct(bytes_to(pe), pe) && !team_.is_remote(pe);
    }
    return this->parts_for(sends, copies);
  }
  /// Where at `pe` a piece goes that this PE brings there, as a symmetric address.
  HEDDLE_FN byte* target_of(int pe, const piece& out) const {
    return team_.heap() + load_settled(from(pe).place[mailbox::both].target) +
           (out.offset - args_.sends.offset_of(pe));
  }
  /// All that this PE does with the other's memory is done. By one thread.
  HEDDLE_FN void leave(int pe) const {
    const uint64_t count = meetings_with(pe) + 1;
    const piece out = sent(pe);
    if (team_.is_remote(pe) && out.by == way::by_sender)
      this->tell_left(pe, mailbox::both, count, target_of(pe, out), args_.input + out.offset,
                      out.bytes);
    else
      this->tell_left(pe, mailbox::both, count);
  }

  const exchange_args<Pieces>& args_;
  uint64_t parts_ = 0;  ///< parts_of_sent()
};

}  // namespace detail

/// Runs an exchange. Called by all threads of every block of a grid, on every PE of the team; at
/// most channel_scratch::max_slot_channels blocks. False, on all threads of a block alike, if the
/// team was aborted before all of the block's part had come.
template <class Pieces, block_group B>
HEDDLE_FN bool exchange(B block, const exchange_args<Pieces>& args) {
  return detail::exchange_channel<Pieces, B>(block, args).run();
}

}  // namespace heddle
