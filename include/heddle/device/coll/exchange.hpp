// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/coll/scratch.hpp>
#include <heddle/device/impl/copy.hpp>

/// Exchange: every PE sends a piece of memory to some PEs and receives one from some. All
/// collectives that combine nothing are exchanges, and so are sends and receives:
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
///     direct   the two tell each other where the piece is and where it goes, and one of them
///     copies
///              it there: two hops, one copy. What is in the heap on neither side goes by slots.
///
/// Words and slots go in steps, in each of which a pair moves one slot in either direction:
/// mailbox.hpp says what that gives for nothing.
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
  size_t words_up_to = 0;          ///< bytes of a piece
  size_t slots_up_to = 0;          ///< as well; more is direct
  size_t network_slots_up_to = 0;  ///< the same between PEs that memory does not join
  bool pull = true;                ///< who copies where either could: the receiver
  Pieces sends{};                  ///< of `input`; a piece of no bytes is not sent
  Pieces receives{};               ///< of `output`
};

namespace detail {

/// One channel's part of an exchange, as one thread of its block sees it.
template <class Pieces, block_group B>
class exchange_channel {
 public:
  HEDDLE_FN exchange_channel(B block, const exchange_args<Pieces>& args)
      : block_(block),
        args_(args),
        team_(args.team),
        scratch_(team_, block.block_rank(), block.num_blocks()) {}

  HEDDLE_FN void run() {
    block_.sync();  // the call before has counted
    const bool meets = tell_places();
    bool going = !meets || learn_places();
    const size_t steps = going ? count_steps() : 0;
    if (steps == 0) copy_own();
    for (size_t step = 0; going && step < steps; ++step) going = move_slots(step);
    for (int i = 1 + block_.rank(); going && i < team_.n_pes(); i += block_.size())
      count_slots(after(i));
    if (going && meets) going = move_directly();
    for (int i = 1 + block_.rank(); i < team_.n_pes(); i += block_.size())
      for (int slot = 0; team_.is_remote(after(i)) && slot < mailbox::slots; ++slot)
        settle(after(i), slot);
  }

 private:
  /// How a piece gets from one PE to another, once both know where it is and where it goes.
  enum class way { none, words, slots, by_sender, by_receiver };

  struct piece {
    way by;
    size_t offset;  ///< in input or output, of this channel's part
    size_t bytes;   ///< of this channel's part

    HEDDLE_FN size_t steps() const {
      if (by == way::words) return (bytes + mailbox::ll_capacity - 1) / mailbox::ll_capacity;
      if (by == way::slots)
        return (bytes + mailbox::simple_capacity - 1) / mailbox::simple_capacity;
      return 0;
    }
    HEDDLE_FN size_t bytes_in(size_t step) const {
      const size_t most = by == way::words ? mailbox::ll_capacity : mailbox::simple_capacity;
      return bytes - step * most < most ? bytes - step * most : most;
    }
    HEDDLE_FN size_t offset_in(size_t step) const {
      return offset + step * (by == way::words ? mailbox::ll_capacity : mailbox::simple_capacity);
    }
  };

  HEDDLE_FN int after(int i) const {
    const int pe = team_.my_pe() + i;
    return pe < team_.n_pes() ? pe : pe - team_.n_pes();
  }
  /// What `pe` sends here, and the memory at `pe` of what this PE sends there.
  HEDDLE_FN mailbox& from(int pe) const { return scratch_.mailbox_of(pe); }
  HEDDLE_FN mailbox* at(int pe) const { return team_.ptr(&from(team_.my_pe()), pe); }

  // ---- what goes where ----

  HEDDLE_FN size_t bytes_to(int pe) const {
    const bool is_sent = args_.to == everybody || args_.to == pe;
    return is_sent ? args_.sends.bytes_of(pe) : 0;
  }
  HEDDLE_FN size_t bytes_from(int pe) const {
    const bool is_received = args_.from == everybody || args_.from == pe;
    return is_received ? args_.receives.bytes_of(pe) : 0;
  }
  HEDDLE_FN bool is_direct(size_t bytes, int pe) const {
    return bytes > (team_.is_remote(pe) ? args_.network_slots_up_to : args_.slots_up_to);
  }
  HEDDLE_FN bool meets(int pe) const {
    return is_direct(bytes_to(pe), pe) || is_direct(bytes_from(pe), pe);
  }
  HEDDLE_FN uint64_t place_to(int pe) const {
    return team_.symmetric_offset(args_.input + args_.sends.offset_of(pe), bytes_to(pe));
  }
  HEDDLE_FN uint64_t place_from(int pe) const {
    return team_.symmetric_offset(args_.output + args_.receives.offset_of(pe), bytes_from(pe));
  }

  /// The same at both ends of the piece.
  HEDDLE_FN way way_of(size_t bytes, int pe, uint64_t source, uint64_t target) const {
    if (bytes == 0) return way::none;
    const bool remote = team_.is_remote(pe);
    if (!is_direct(bytes, pe))
      return bytes <= args_.words_up_to && !remote ? way::words : way::slots;
    const bool has_source = source != channel_scratch::not_symmetric && !remote;
    const bool has_target = target != channel_scratch::not_symmetric;
    if (has_source && (args_.pull || !has_target)) return way::by_receiver;
    return has_target ? way::by_sender : way::slots;
  }
  /// This channel's part of a piece.
  HEDDLE_FN piece part_of(way by, size_t offset, size_t bytes) const {
    const auto channels = static_cast<size_t>(block_.num_blocks());
    const size_t lines = (bytes + cache_line - 1) / cache_line;
    const size_t each = (channels == 1 ? lines : (lines + channels - 1) / channels) * cache_line;
    const size_t begin = each * static_cast<size_t>(block_.block_rank());
    const size_t first = begin < bytes ? begin : bytes;
    return {by, offset + first, bytes - first < each ? bytes - first : each};
  }
  HEDDLE_FN piece sent(int pe) const {
    size_t bytes = bytes_to(pe);
    way by = way::none;
    if (is_direct(bytes, pe)) {
      const auto& theirs = from(pe).place;
      by = way_of(bytes, pe, place_to(pe), load(&theirs.target, relaxed));
      const uint64_t wanted = load(&theirs.target_bytes, relaxed);
      if (wanted < bytes) bytes = wanted;
    } else {
      by = way_of(bytes, pe, 0, 0);
    }
    return part_of(by, args_.sends.offset_of(pe), bytes);
  }
  HEDDLE_FN piece received(int pe) const {
    size_t bytes = bytes_from(pe);
    way by = way::none;
    if (is_direct(bytes, pe)) {
      const auto& theirs = from(pe).place;
      by = way_of(bytes, pe, load(&theirs.source, relaxed), place_from(pe));
      const uint64_t given = load(&theirs.source_bytes, relaxed);
      if (given < bytes) bytes = given;
    } else {
      by = way_of(bytes, pe, 0, 0);
    }
    return part_of(by, args_.receives.offset_of(pe), bytes);
  }

  /// By all threads, without a sync.
  HEDDLE_FN void copy_own() const {
    const int me = team_.my_pe();
    const piece own =
        part_of(way::none, 0, bytes_to(me) < bytes_from(me) ? bytes_to(me) : bytes_from(me));
    const byte* source = args_.input + args_.sends.offset_of(me) + own.offset;
    byte* target = args_.output + args_.receives.offset_of(me) + own.offset;
    if (own.bytes > 0 && source != target) copy(block_, target, source, own.bytes);
  }

  // ---- words and slots ----

  HEDDLE_FN static mailbox::flow& flow_of(mailbox& box, way by) {
    return by == way::words ? box.ll_flow : box.simple_flow;
  }
  HEDDLE_FN static uint64_t& credit_of(mailbox& box, way by) {
    return by == way::words ? box.ll_credit : box.simple_credit;
  }
  HEDDLE_FN static size_t slot_of(uint64_t number) { return number % mailbox::slots; }

  HEDDLE_FN size_t count_steps() const {
    size_t most = 0;
    for (int i = 1; i < team_.n_pes(); ++i) {
      const size_t out = sent(after(i)).steps();
      const size_t in = received(after(i)).steps();
      if (out > most) most = out;
      if (in > most) most = in;
    }
    return most;
  }

  /// Whether the slot of `step` is empty; waits until it is. False if the team was aborted.
  HEDDLE_FN bool has_room(int pe, way by, size_t step) const {
    if (step > 0 && received(pe).steps() >= step) return true;
    const auto& flow = flow_of(from(pe), by);
    const uint64_t number = flow.sent + step;
    if (number < flow.emptied + mailbox::slots) return true;
    return team_.wait_by_thread(&credit_of(from(pe), by), cmp::ge, number + 1 - mailbox::slots,
                                args_.what, pe) == wait_status::ok;
  }

  HEDDLE_FN bool move_slots(size_t step) {
    const int n_pes = team_.n_pes();
    bool going = true;
    for (int i = 1; i < n_pes; ++i) {
      const int pe = after(i);
      const piece out = sent(pe);
      if (step >= out.steps()) continue;
      going &= has_room(pe, out.by, step);
      if (!going || team_.is_remote(pe)) continue;
      const uint64_t number = flow_of(from(pe), out.by).sent + step;
      const byte* source = args_.input + out.offset_in(step);
      if (out.by == way::words)
        write_words(at(pe)->ll[slot_of(number)], source, out.bytes_in(step), number);
      else
        copy(block_, at(pe)->simple[slot_of(number)].data, source, out.bytes_in(step));
    }
    going = block_.all(going);
    for (int i = 1 + block_.rank(); going && i < n_pes; i += block_.size()) {
      const piece out = sent(after(i));
      if (step < out.steps() && out.by == way::slots) fill_slot(after(i), out, step);
    }
    if (step == 0) copy_own();

    for (int i = 1 + block_.rank(); going && i < n_pes; i += block_.size()) {
      const piece in = received(after(i));
      if (step < in.steps() && in.by == way::slots) going = slot_is_filled(after(i), step);
    }
    going = block_.all(going);
    for (int i = 1; going && i < n_pes; ++i) {
      const int pe = after(i);
      const piece in = received(pe);
      if (step >= in.steps()) continue;
      const uint64_t number = flow_of(from(pe), in.by).received + step;
      byte* target = args_.output + in.offset_in(step);
      if (in.by == way::words)
        going = read_words(pe, from(pe).ll[slot_of(number)], target, in.bytes_in(step), number);
      else
        copy(block_, target, from(pe).simple[slot_of(number)].data, in.bytes_in(step));
    }
    going = block_.all(going);
    for (int i = 1 + block_.rank(); going && i < n_pes; i += block_.size()) {
      const piece in = received(after(i));
      if (step < in.steps()) give_back(after(i), in, step);
    }
    return going;
  }

  /// Tells that a slot is full, and brings it there if it is remote. By one thread.
  HEDDLE_FN void fill_slot(int pe, const piece& out, size_t step) const {
    const uint64_t number = from(pe).simple_flow.sent + step;
    if (!team_.is_remote(pe))
      return store(&at(pe)->simple[slot_of(number)].filled, number + 1, release);
    auto& there = from(team_.my_pe()).simple[slot_of(number)];
    lend(pe, static_cast<int>(slot_of(number)), there.data, args_.input + out.offset_in(step),
         out.bytes_in(step), &there.filled, number + 1);
  }
  HEDDLE_FN bool slot_is_filled(int pe, size_t step) const {
    const uint64_t number = from(pe).simple_flow.received + step;
    return team_.wait_by_thread(&from(pe).simple[slot_of(number)].filled, cmp::ge, number + 1,
                                args_.what, pe) == wait_status::ok;
  }
  HEDDLE_FN void give_back(int pe, const piece& in, size_t step) const {
    const uint64_t number = flow_of(from(pe), in.by).received + step;
    if (in.by == way::slots) {
      auto& slot = from(pe).simple[slot_of(number)];
      take_back(&slot.taken);
      if (!team_.is_remote(pe))
        for (size_t i = 0; i < in.bytes_in(step); i += cache_line)
          take_back(reinterpret_cast<uint64_t*>(slot.data + i));
    }
    if (step < sent(pe).steps()) return;  // what this PE sends tells
    if (team_.is_remote(pe))
      team_.tell(&credit_of(from(team_.my_pe()), in.by), number + 1, pe);
    else
      store(&credit_of(*at(pe), in.by), number + 1, release);
  }

  /// When all slots have moved, and before the other is told that this PE has left: it may write
  /// where it has its next pieces then. By one thread for each PE.
  HEDDLE_FN void count_slots(int pe) const {
    mailbox& box = from(pe);
    const piece out = sent(pe);
    const piece in = received(pe);
    const size_t out_steps = out.steps();
    const size_t in_steps = in.steps();
    const bool met = meets(pe);
    if (in_steps > 0 || met) {
      box.ll_flow.emptied = box.ll_flow.sent;
      box.simple_flow.emptied = box.simple_flow.sent;
      if (out_steps > 0)
        flow_of(box, out.by).emptied += met || in_steps > out_steps ? out_steps : in_steps - 1;
    }
    if (out_steps > 0) flow_of(box, out.by).sent += out_steps;
    if (in_steps > 0) flow_of(box, in.by).received += in_steps;
  }

  HEDDLE_FN static uint64_t word_at(const byte* source, size_t bytes, size_t word) {
    uint64_t data = 0;
    const size_t left = bytes - word * 8;
    memcpy(&data, source + word * 8, left < 8 ? left : 8);
    return data;
  }
  HEDDLE_FN void write_words(ll_line* slot, const byte* source, size_t bytes,
                             uint64_t number) const {
    const uint32_t flag = ll_flag(number, team_.flag_period());
    const size_t words = (bytes + 7) / 8;
    // The first of each slot in a flag period rewrites all of it (see ll.hpp).
    const bool refresh = flag <= mailbox::slots && number >= mailbox::slots;
    const size_t written = refresh ? mailbox::ll_capacity / 8 : words;
    for (auto w = static_cast<size_t>(block_.rank()); w < written;
         w += static_cast<size_t>(block_.size()))
      ll_store(&slot[w], w < words ? word_at(source, bytes, w) : 0, flag);
  }
  HEDDLE_FN bool read_words(int pe, const ll_line* slot, byte* target, size_t bytes,
                            uint64_t number) const {
    const uint32_t flag = ll_flag(number, team_.flag_period());
    const size_t words = (bytes + 7) / 8;
    for (auto w = static_cast<size_t>(block_.rank()); w < words;
         w += static_cast<size_t>(block_.size())) {
      uint64_t data = 0;
      auto look = [&](uint64_t& seen) {
        const bool here = ll_load(&slot[w], flag, data);
        seen = load(&slot[w].flag0, relaxed);
        return here;
      };
      if (team_.wait_by_thread(look, &slot[w], cmp::eq, flag, args_.what, pe) != wait_status::ok)
        return false;
      const size_t left = bytes - w * 8;
      memcpy(target + w * 8, &data, left < 8 ? left : 8);
    }
    return true;
  }

  // ---- directly ----

  /// Tells the PEs with which this one has direct pieces where they are. Whether there are any.
  HEDDLE_FN bool tell_places() const {
    bool any = false;
    for (int i = 1; i < team_.n_pes(); ++i) {
      const int pe = after(i);
      if (!meets(pe)) continue;
      any = true;
      if ((i - 1) % block_.size() != block_.rank()) continue;
      const uint64_t count = from(pe).meetings + 1;
      const mailbox::meeting mine = {count,          place_to(pe),   bytes_to(pe),
                                     place_from(pe), bytes_from(pe), 0};
      auto& there = from(team_.my_pe()).place;
      if (team_.is_remote(pe)) {
        team_.send(reinterpret_cast<byte*>(&there.source),
                   reinterpret_cast<const byte*>(&mine.source), 4 * sizeof(uint64_t), &there.count,
                   count, pe);
      } else {
        auto& place = at(pe)->place;
        store(&place.source, mine.source, relaxed);
        store(&place.source_bytes, mine.source_bytes, relaxed);
        store(&place.target, mine.target, relaxed);
        store(&place.target_bytes, mine.target_bytes, relaxed);
        store(&place.count, count, release);
      }
    }
    return any;
  }
  HEDDLE_FN bool learn_places() const {
    bool going = true;
    for (int i = 1 + block_.rank(); i < team_.n_pes(); i += block_.size()) {
      const int pe = after(i);
      if (meets(pe))
        going &= team_.wait_by_thread(&from(pe).place.count, cmp::ge, from(pe).meetings + 1,
                                      args_.what, pe) == wait_status::ok;
    }
    return block_.all(going);
  }

  HEDDLE_FN bool move_directly() {
    for (int i = 1; i < team_.n_pes(); ++i) {
      const int pe = after(i);
      const piece in = received(pe);
      if (in.by == way::by_receiver) {
        const byte* there = team_.ptr(team_.heap(), pe) + load(&from(pe).place.source, relaxed);
        copy(block_, args_.output + in.offset, there + (in.offset - args_.receives.offset_of(pe)),
             in.bytes);
      }
      const piece out = sent(pe);
      if (out.by == way::by_sender && !team_.is_remote(pe))
        copy(block_, team_.ptr(target_of(pe, out), pe), args_.input + out.offset, out.bytes);
    }
    block_.sync();
    for (int i = 1 + block_.rank(); i < team_.n_pes(); i += block_.size())
      if (meets(after(i))) leave(after(i));
    bool going = true;
    for (int i = 1 + block_.rank(); i < team_.n_pes(); i += block_.size()) {
      const int pe = after(i);
      if (!meets(pe)) continue;
      going &= team_.wait_by_thread(&from(pe).left.value, cmp::ge, from(pe).meetings + 1,
                                    args_.what, pe) == wait_status::ok;
      take_back(&from(pe).place.taken);
      take_back(&from(pe).left.taken);
    }
    going = block_.all(going);  // every thread has read the counts
    for (int i = 1 + block_.rank(); going && i < team_.n_pes(); i += block_.size())
      if (meets(after(i))) ++from(after(i)).meetings;
    return going;
  }
  /// Where at `pe` a piece goes that this PE brings there, as a symmetric address.
  HEDDLE_FN byte* target_of(int pe, const piece& out) const {
    return team_.heap() + load(&from(pe).place.target, relaxed) +
           (out.offset - args_.sends.offset_of(pe));
  }
  /// All that this PE does with the other's memory is done. By one thread.
  HEDDLE_FN void leave(int pe) const {
    uint64_t* word = &from(team_.my_pe()).left.value;
    const uint64_t count = from(pe).meetings + 1;
    if (!team_.is_remote(pe)) return store(team_.ptr(word, pe), count, release);
    const piece out = sent(pe);
    if (out.by == way::by_sender && out.bytes > 0)
      lend(pe, 0, target_of(pe, out), args_.input + out.offset, out.bytes, word, count);
    else
      team_.tell(word, count, pe);
  }

  // ---- the network ----

  /// Sends from where the bytes are. They are in use until `settle`.
  HEDDLE_FN void lend(int pe, int slot, byte* target, const byte* source, size_t bytes,
                      uint64_t* word, uint64_t value) const {
    settle(pe, slot);
    from(pe).borrowed[slot] = team_.send_borrowed(target, source, bytes, word, value, pe) + 1;
  }
  HEDDLE_FN void settle(int pe, int slot) const {
    uint64_t& borrowed = from(pe).borrowed[slot];
    if (borrowed) team_.await_borrowed(borrowed - 1, pe);
    borrowed = 0;
  }

  static constexpr int everybody = exchange_args<Pieces>::everybody;

  B block_;
  const exchange_args<Pieces>& args_;
  const team_ref& team_;
  channel_scratch scratch_;
};

}  // namespace detail

/// Runs an exchange. Called by all threads of every block of a grid, on every PE of the team.
template <class Pieces, block_group B>
HEDDLE_FN void exchange(B block, const exchange_args<Pieces>& args) {
  detail::exchange_channel<Pieces, B>(block, args).run();
}

}  // namespace heddle
