// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/coll/ll_wait.hpp>
#include <heddle/device/coll/scratch.hpp>
#include <heddle/device/impl/copy.hpp>

namespace heddle::detail {

/// How a piece gets from one PE to another: see exchange.hpp.
enum class way { none, words, slots, packets, by_sender, by_receiver };

/// Whether the data is followed by a flag of its own.
HEDDLE_FN constexpr bool has_flag(way by) { return by == way::slots || by == way::packets; }

/// A channel's part of a piece, and the steps in which it goes by words, slots or packets.
struct piece {
  way by;
  size_t offset;  ///< where it begins, bytes
  size_t bytes;

  HEDDLE_HOT HEDDLE_FN size_t capacity() const {
    if (by == way::words) return mailbox::ll_step;
    if (by != way::packets) return mailbox::simple_capacity;
    return bytes <= mailbox::most_at_once ? mailbox::most_at_once : mailbox::packet_capacity;
  }
  HEDDLE_HOT HEDDLE_FN size_t steps() const {
    // Divisors that the compiler knows.
    if (by == way::words) return (bytes + mailbox::ll_step - 1) / mailbox::ll_step;
    if (by == way::slots) return (bytes + mailbox::simple_capacity - 1) / mailbox::simple_capacity;
    return by == way::packets ? (bytes + capacity() - 1) / capacity() : 0;
  }
  HEDDLE_HOT HEDDLE_FN size_t bytes_in(size_t step) const {
    const size_t done = step * capacity();
    return bytes - done < capacity() ? bytes - done : capacity();
  }
  HEDDLE_HOT HEDDLE_FN size_t offset_in(size_t step) const { return offset + step * capacity(); }
  /// The count of LL words or units with which a step ends, and all, if it was `before`.
  HEDDLE_HOT HEDDLE_FN uint64_t end_of(size_t step, uint64_t before) const {
    if (by == way::words) return before + step * (mailbox::ll_step / 8) + (bytes_in(step) + 7) / 8;
    const size_t units =
        by == way::slots ? capacity() / mailbox::unit_bytes : units_of(bytes_in(step));
    return first_unit_of(step, before) + units;
  }
  HEDDLE_HOT HEDDLE_FN uint64_t end(uint64_t before) const {
    if (by == way::words) return before + (bytes + 7) / 8;
    return end_of(steps() - 1, before);
  }
  /// With which the slot or packet of a step begins.
  HEDDLE_HOT HEDDLE_FN uint64_t first_unit_of(size_t step, uint64_t before) const {
    const uint64_t whole = capacity() / mailbox::unit_bytes;
    const uint64_t begin = is_aligned(before) ? (before + whole - 1) & ~(whole - 1) : before;
    return begin + step * whole;
  }

 private:
  HEDDLE_HOT HEDDLE_FN static uint64_t units_of(size_t bytes) {
    return (bytes + mailbox::unit_bytes - 1) / mailbox::unit_bytes;
  }
  HEDDLE_HOT HEDDLE_FN bool is_aligned(uint64_t before) const {
    return by == way::slots || bytes > capacity() ||
           before % mailbox::units + units_of(bytes) > mailbox::units;
  }
};

/// The mailboxes of one channel as one thread of its block sees them, in a call in which pairs of
/// PEs move pieces step by step: what a call does in a step, and what it counts at the end.
template <block_group B>
class mailbox_channel {
 public:
  HEDDLE_FN mailbox_channel(B block, const team_ref& team, operation what)
      : block_(block),
        team_(team),
        scratch_(team, block.block_rank(), block.num_blocks()),
        boxes_(&scratch_.mailbox_of(0)),
        wide_(team.has_network() ? scratch_.wide_rings() : nullptr),
        what_(what) {}

 protected:
  /// The i-th PE after this one.
  HEDDLE_FN int after(int i) const {
    const int pe = team_.my_pe() + i;
    return pe < team_.n_pes() ? pe : pe - team_.n_pes();
  }
  /// What `pe` sends here, and the memory at `pe` of what this PE sends there.
  HEDDLE_FN mailbox& from(int pe) const { return boxes_[pe]; }
  /// What went to and from `pe` before, by words or else.
  HEDDLE_FN const mailbox::flow& flow_with(int pe, way by) const { return flow_of(from(pe), by); }
  HEDDLE_FN mailbox* at(int pe) const { return team_.ptr(&from(team_.my_pe()), pe); }
  HEDDLE_FN way slots_for(int pe) const { return team_.is_remote(pe) ? way::packets : way::slots; }
  /// The way of a piece that does not go directly. The same at both ends.
  HEDDLE_FN way stepwise_way(int pe, size_t bytes, size_t words_up_to,
                             size_t packets_up_to = 0) const {
    if (team_.is_remote(pe)) return way::packets;
    if (bytes <= words_up_to) return way::words;
    return !HEDDLE_ON_CUDA && bytes <= packets_up_to ? way::packets : way::slots;
  }
  /// This channel's part of a piece of `bytes`, which begins at `offset`.
  HEDDLE_FN piece part_of(way by, size_t offset, size_t bytes) const {
    const auto channels = static_cast<size_t>(block_.num_blocks());
    const size_t lines = (bytes + cache_line - 1) / cache_line;
    const size_t each = (channels == 1 ? lines : (lines + channels - 1) / channels) * cache_line;
    const size_t begin = each * static_cast<size_t>(block_.block_rank());
    const size_t first = begin < bytes ? begin : bytes;
    return {by, offset + first, bytes - first < each ? bytes - first : each};
  }

  // ---- sending: room, then the data by all threads, then, after a sync, fill_slot by one ----

  /// Waits until there is room for `step`. `answered`: `pe` has sent something in the step before.
  /// False if the team was aborted.
  HEDDLE_HOT HEDDLE_FN bool has_room(int pe, const piece& out, size_t step, bool answered) const {
    return answered || has_room(pe, out, step, flow_of(from(pe), out.by));
  }
  /// The same, `flow` being that with `pe`.
  HEDDLE_HOT HEDDLE_FN bool has_room(int pe, const piece& out, size_t step,
                                     const mailbox::flow& flow) const {
    return has_known_room(pe, out, step, flow) || await_room(pe, out, step);
  }
  /// Whether there is, without a look at the credit.
  HEDDLE_FN bool has_known_room(int pe, const piece& out, size_t step) const {
    return has_known_room(pe, out, step, flow_of(from(pe), out.by));
  }
  HEDDLE_FN bool has_known_room(int pe, const piece& out, size_t step,
                                const mailbox::flow& flow) const {
    return out.end_of(step, flow.sent) <= flow.emptied + room_of(pe, out.by);
  }
  /// A word, and how much it must be at least.
  struct awaited {
    const uint64_t* word;
    uint64_t value;
  };
  /// Until there is room, which is not known to be.
  HEDDLE_FN awaited credit_for(int pe, const piece& out, size_t step) const {
    const auto& flow = flow_of(from(pe), out.by);
    return {&credit_of(from(pe), out.by), out.end_of(step, flow.sent) - room_of(pe, out.by)};
  }
  /// To a mapped PE.
  HEDDLE_HOT HEDDLE_FN void write(int pe, const piece& out, size_t step, const byte* source) const {
    write(pe, out, step, source, flow_of(from(pe), out.by));
  }
  HEDDLE_HOT HEDDLE_FN void write(int pe, const piece& out, size_t step, const byte* source,
                                  const mailbox::flow& flow) const {
    if (out.by == way::words)
      write_words(at(pe)->ll, flow.sent + word_of(step), source, out.bytes_in(step));
    else
      copy(block_, at(pe)->simple.unit(out.first_unit_of(step, flow.sent)), source,
           out.bytes_in(step));
  }
  /// Tells that a slot is full; brings it to a remote PE.
  HEDDLE_HOT HEDDLE_FN void fill_slot(int pe, const piece& out, size_t step,
                                      const byte* source) const {
    const uint64_t number = out.first_unit_of(step, from(pe).simple_flow.sent);
    if (!team_.is_remote(pe))
      return store(&at(pe)->simple.flag(number).filled, number + 1, release);
    const int me = team_.my_pe();
    const bool wide = has_wide_rings();
    // Packets of one unit to 32 take different slots one after the other, at least four.
    lend(pe, number + number / slot_units + number / 16, unit(me, number, wide), source,
         out.bytes_in(step), &flag(me, number, wide).filled, number + 1);
  }

  // ---- receiving: by one thread each, then, all having agreed, the data ----

  /// Before this PE waits for anybody: `pe` will know that there is room for what it sends in
  /// `step`. `answers`: this PE has sent it something in the step before.
  HEDDLE_FN void make_room(int pe, const piece& in, size_t step, bool answers) const {
    if (!team_.is_remote(pe) || answers) return;
    auto& flow = from(pe).simple_flow;
    if (in.end_of(step, flow.received) <= flow.told + room_of(pe, in.by)) return;
    flow.told = step == 0 ? flow.received : in.end_of(step - 1, flow.received);
    team_.tell(&credit_of(from(team_.my_pe()), in.by), flow.told, pe);
  }
  HEDDLE_FN awaited slot_for(int pe, const piece& in, size_t step) const {
    const uint64_t number = in.first_unit_of(step, from(pe).simple_flow.received);
    return {&flag(pe, number, is_wide(pe)).filled, number + 1};
  }
  HEDDLE_HOT HEDDLE_FN bool slot_is_filled(int pe, const piece& in, size_t step) const {
    const awaited slot = slot_for(pe, in, step);
    return team_.await_count(slot.word, slot.value, what_, pe);
  }
  HEDDLE_FN const byte* slot_data(int pe, const piece& in, size_t step) const {
    return unit(pe, in.first_unit_of(step, from(pe).simple_flow.received), is_wide(pe));
  }
  /// What `pe`, which is mapped, sends next comes while this PE does other things.
  HEDDLE_HOT HEDDLE_FN void expect_slot(int pe) const {
    const uint64_t number = from(pe).simple_flow.received;
    prefetch(&from(pe).simple.flag(number));
    prefetch(from(pe).simple.unit(number));
  }
  /// Whether the words of a step come: the first is here.
  HEDDLE_FN bool has_first_word(int pe, size_t step) const {
    const uint64_t number = from(pe).ll_flow.received + word_of(step);
    uint64_t data = 0;
    return ll_load(line_of(pe, number), flag_of(number), data);
  }
  /// For messages: its data and flag.
  HEDDLE_FN awaited first_word_for(int pe, size_t step) const {
    const uint64_t number = from(pe).ll_flow.received + word_of(step);
    return {reinterpret_cast<const uint64_t*>(line_of(pe, number)),
            uint64_t{flag_of(number)} << 32};
  }
  /// Brings the words of a step to memory, by all threads. False if the team was aborted.
  HEDDLE_HOT HEDDLE_FN bool read_words(int pe, size_t step, byte* target, size_t bytes) const {
    for (auto w = static_cast<size_t>(block_.rank()); w * 8 < bytes;
         w += static_cast<size_t>(block_.size())) {
      uint64_t data = 0;
      if (!read_word(pe, step, w, data)) return false;
      set_word(target, bytes, w, data);
    }
    return true;
  }
  /// The same from N PEs, pe_of(i), to target_of(i); -1: nobody.
  template <int N, class PeOf, class TargetOf>
  HEDDLE_FN bool read_words_of(const PeOf& pe_of, const TargetOf& target_of, size_t step,
                               size_t bytes) const {
    bool any = false;
    for (int i = 0; i < N; ++i) any |= pe_of(i) >= 0;
    for (auto w = static_cast<size_t>(block_.rank()); any && w * 8 < bytes;
         w += static_cast<size_t>(block_.size())) {
      uint64_t data[N] = {};
      if (!read_word_of(pe_of, step, w, data)) return false;
      for (int i = 0; i < N; ++i)
        if (pe_of(i) >= 0) set_word(target_of(i), bytes, w, data[i]);
    }
    return true;
  }
  /// Waits for word `w` of a step from each of them.
  template <int N, class PeOf>
  HEDDLE_FN bool read_word_of(const PeOf& pe_of, const size_t step, size_t w,
                              uint64_t (&data)[N]) const {
    // In registers: after each look CUDA would read them again.
    mailbox* const boxes = boxes_;
    const int me = team_.my_pe();
    const uint32_t period = team_.flag_period();
    const ll_line* line[N];
    uint32_t flag[N];
    bool here[N];
    for (int i = 0; i < N; ++i) {
      here[i] = pe_of(i) < 0;
      mailbox& box = boxes[here[i] ? me : pe_of(i)];
      const uint64_t number = box.ll_flow.received + word_of(step) + w;
      line[i] = &box.ll[number % mailbox::ll_words];
      flag[i] = ll_flag(number / mailbox::ll_words, period);
    }
    ll_look(line, flag, data, here);
    for (int i = 0; i < N; ++i) {
      if (here[i]) continue;
      const ll_word late = ll_await(team_, line[i], flag[i], what_, pe_of(i));
      if (!late.arrived) return false;
      data[i] = late.data;
    }
    return true;
  }
  /// Waits for word `w` of a step. False if the team was aborted.
  HEDDLE_FN bool read_word(int pe, size_t step, size_t w, uint64_t& data) const {
    const uint64_t number = from(pe).ll_flow.received + word_of(step) + w;
    const ll_word word = ll_await(team_, line_of(pe, number), flag_of(number), what_, pe);
    data = word.data;
    return word.arrived;
  }
  /// When every thread has read it. `answers`: this PE has sent `pe` something in this step.
  HEDDLE_HOT HEDDLE_FN void give_back(int pe, const piece& in, size_t step, bool answers) const {
    auto& flow = flow_of(from(pe), in.by);
    const bool is_remote = team_.is_remote(pe);
    if (in.by != way::words && !is_remote) {
      const uint64_t number = in.first_unit_of(step, flow.received);
      take_back(&from(pe).simple.flag(number).taken);
      for (size_t i = 0; i < in.bytes_in(step); i += cache_line)
        take_back(reinterpret_cast<uint64_t*>(from(pe).simple.unit(number) + i));
    }
    const uint64_t emptied = in.end_of(step, flow.received);
    const uint64_t worth_telling = room_of(pe, in.by) / 4;
    if (answers || emptied - flow.told < worth_telling) return;
    flow.told = emptied;
    if (is_remote)
      team_.tell(&credit_of(from(team_.my_pe()), in.by), emptied, pe);
    else
      store(&credit_of(*at(pe), in.by), emptied, release);
  }

  // ---- meetings, in which a piece is moved directly ----

  /// Tells `pe` where this PE has what they exchange (a remote one not `parts`, which are for
  /// memory). By one thread.
  HEDDLE_FN void tell_place(int pe, mailbox::role role, const mailbox::meeting& mine) const {
    auto& there = from(team_.my_pe()).place[role];
    if (team_.is_remote(pe))
      return team_.send(reinterpret_cast<byte*>(&there.source),
                        reinterpret_cast<const byte*>(&mine.source), 4 * sizeof(uint64_t),
                        &there.count, mine.count, pe);
    auto& place = at(pe)->place[role];
    store(&place.source, mine.source, relaxed);
    store(&place.source_bytes, mine.source_bytes, relaxed);
    store(&place.target, mine.target, relaxed);
    store(&place.target_bytes, mine.target_bytes, relaxed);
    store(&place.parts, mine.parts, relaxed);
    store(&place.count, mine.count, release);
  }
  /// Tells `pe` that this PE is done with its memory, when all threads are. With `bytes`, it brings
  /// them to a remote PE first. By one thread.
  HEDDLE_FN void tell_left(int pe, mailbox::role role, uint64_t count, byte* target = nullptr,
                           const byte* source = nullptr, size_t bytes = 0) const {
    uint64_t* word = &from(team_.my_pe()).left[role].value;
    if (!team_.is_remote(pe)) return store(team_.ptr(word, pe), count, release);
    if (bytes > 0)
      lend(pe, 0, target, source, bytes, word, count);
    else
      team_.tell(word, count, pe);
  }
  /// Which way a piece goes that is not for words and slots. `source`, `target`: offsets in the
  /// heap, or not_symmetric. The same at both ends. `pull`: who copies where either could, but for
  /// the first part (parts_for).
  HEDDLE_FN way direct_way(int pe, uint64_t source, uint64_t target, bool pull) const {
    const bool has_source = source != channel_scratch::not_symmetric && !team_.is_remote(pe);
    const bool has_target = target != channel_scratch::not_symmetric;
    if (has_source && (pull || !has_target)) return way::by_receiver;
    return has_target ? way::by_sender : slots_for(pe);
  }

  /// Into how many parts a piece is cut, of which its sender copies the first (meeting::parts): one
  /// for it and for each PE that it sends to by memory. 0: the receiver copies all. `copies`: the
  /// sender has other things to copy. A GPU does not share in it: its links are expected to be the
  /// limit either way.
  HEDDLE_FN static uint64_t parts_for(int sends, bool copies) {
    return HEDDLE_ON_CUDA || copies ? 0 : static_cast<uint64_t>(sends) + 1;
  }
  /// The bytes of the first part, of a piece whose way is by_receiver. `target`: where it goes.
  HEDDLE_FN static size_t first_part(const piece& all, uint64_t parts, uint64_t target) {
    if (parts == 0 || target == channel_scratch::not_symmetric) return 0;
    return all.bytes / parts / cache_line * cache_line;
  }

  // ---- at the end ----

  /// By one thread for each PE. `is_done`: `pe` has said, or will have before this call ends, that
  /// it has emptied all that it was sent.
  HEDDLE_FN void count_steps_with(int pe, const piece& out, const piece& in, bool is_done) const {
    mailbox& box = from(pe);
    const size_t out_steps = out.steps();
    const size_t in_steps = in.steps();
    const auto know = [&](uint64_t mailbox::flow::*known, uint64_t mailbox::flow::*count,
                          const piece& moved, size_t answers) {
      const size_t steps = moved.steps();
      if (answers == 0 && !is_done) return;
      box.ll_flow.*known = box.ll_flow.*count;
      box.simple_flow.*known = box.simple_flow.*count;
      const size_t emptied = is_done || answers > steps ? steps : answers - 1;
      auto& flow = flow_of(box, moved.by);
      if (steps > 0 && emptied > 0) flow.*known = moved.end_of(emptied - 1, flow.*count);
    };
    know(&mailbox::flow::emptied, &mailbox::flow::sent, out, in_steps);
    know(&mailbox::flow::told, &mailbox::flow::received, in, out_steps);  // as the other does
    if (out_steps > 0) count_units(pe, out, true);
    if (in_steps > 0) count_units(pe, in, false);
  }
  /// The same of a piece of one step, `sends` and `receives` whether it goes in that direction.
  HEDDLE_HOT HEDDLE_FN void count_one_step_with(int pe, const piece& each, bool sends,
                                                bool receives) const {
    mailbox& box = from(pe);
    if (receives) {
      box.ll_flow.emptied = box.ll_flow.sent;
      box.simple_flow.emptied = box.simple_flow.sent;
    }
    if (sends) {
      box.ll_flow.told = box.ll_flow.received;  // as the other does
      box.simple_flow.told = box.simple_flow.received;
      count_units(pe, each, true);
    }
    if (receives) count_units(pe, each, false);
  }
  /// All of a piece in one direction, by one thread.
  HEDDLE_HOT HEDDLE_FN void count_units(int pe, const piece& all, bool is_sent) const {
    auto& flow = flow_of(from(pe), all.by);
    if (!is_sent) {
      flow.received = all.end(flow.received);
      return;
    }
    flow.sent = all.end(flow.sent);
    // The credit is looked at seldom: who looks takes its line from who writes it.
    if (flow.sent - flow.emptied <= room_of(pe, all.by) / 2) return;
    const uint64_t credit = load(&credit_of(from(pe), all.by), acquire);
    if (credit > flow.emptied) flow.emptied = credit;
  }
  /// What was sent from memory of the user's has left it. By the threads that have sent.
  HEDDLE_FN void settle_all() const {
    for (int i = 1 + block_.rank(); i < team_.n_pes(); i += block_.size()) {
      const int pe = after(i);
      if (!team_.is_remote(pe)) continue;
      HEDDLE_ROLLED
      for (int slot = 0; slot < mailbox::slots; ++slot) settle(pe, slot);
    }
  }
  /// Sends from where the bytes are. They are in use until it is settled.
  HEDDLE_FN void lend(int pe, uint64_t number, byte* target, const byte* source, size_t bytes,
                      uint64_t* word, uint64_t value) const {
    const auto slot = static_cast<int>(number % mailbox::slots);
    settle(pe, slot);
    from(pe).borrowed[slot] = team_.send_borrowed(target, source, bytes, word, value, pe) + 1;
  }

  B block_;
  const team_ref& team_;
  channel_scratch scratch_;
  mailbox* boxes_;
  mailbox::wide_ring* wide_;  ///< [pe]; null: there are none, or no network
  operation what_;

 private:
  HEDDLE_FN static mailbox::flow& flow_of(mailbox& box, way by) {
    return by == way::words ? box.ll_flow : box.simple_flow;
  }
  HEDDLE_FN static uint64_t& credit_of(mailbox& box, way by) {
    return by == way::words ? box.ll_credit : box.simple_credit;
  }
  HEDDLE_FN uint64_t room_of(int pe, way by) const {
    if (by == way::words) return mailbox::ll_words;
    return is_wide(pe) ? mailbox::wide_ring::units : mailbox::units;
  }
  HEDDLE_FN bool has_wide_rings() const { return !HEDDLE_ON_CUDA && wide_ != nullptr; }
  /// Whether packets to and from `pe` go by wide rings.
  HEDDLE_FN bool is_wide(int pe) const { return has_wide_rings() && team_.is_remote(pe); }
  /// Of the ring of what `pe` sends here, or, symmetric, of what this PE sends.
  HEDDLE_FN mailbox::unit_flag& flag(int pe, uint64_t number, bool wide) const {
    return wide ? wide_[pe].flag(number) : from(pe).simple.flag(number);
  }
  HEDDLE_FN byte* unit(int pe, uint64_t number, bool wide) const {
    return wide ? wide_[pe].unit(number) : from(pe).simple.unit(number);
  }
  static constexpr uint64_t slot_units = mailbox::simple_capacity / mailbox::unit_bytes;
  HEDDLE_FN static size_t word_of(size_t step) { return step * (mailbox::ll_step / 8); }
  HEDDLE_FN const ll_line* line_of(int pe, uint64_t number) const {
    return &from(pe).ll[number % mailbox::ll_words];
  }
  HEDDLE_FN uint32_t flag_of(uint64_t number) const {
    return ll_flag(number / mailbox::ll_words, team_.flag_period());
  }

  HEDDLE_APART HEDDLE_FN bool await_room(int pe, const piece& out, size_t step) const {
    const awaited credit = credit_for(pe, out, step);
    return team_.await_count(credit.word, credit.value, what_, pe);
  }
  HEDDLE_FN static uint64_t word_at(const byte* source, size_t bytes, size_t word) {
    source += word * 8;
    bytes -= word * 8;
#if HEDDLE_ON_CUDA
    if (bytes < 8 || reinterpret_cast<uintptr_t>(source) % 8 != 0) return part_at(source, bytes);
    return *reinterpret_cast<const uint64_t*>(source);
#else
    uint64_t data = 0;
    copy_word(&data, source, bytes);
    return data;
#endif
  }
  HEDDLE_FN static void set_word(byte* target, size_t bytes, size_t word, uint64_t data) {
    target += word * 8;
    bytes -= word * 8;
#if HEDDLE_ON_CUDA
    if (bytes < 8 || reinterpret_cast<uintptr_t>(target) % 8 != 0)
      set_part(target, bytes, data);
    else
      *reinterpret_cast<uint64_t*>(target) = data;
#else
    copy_word(target, &data, bytes);
#endif
  }
#if HEDDLE_ON_CUDA
  /// A word that is not aligned, or what is left.
  HEDDLE_APART HEDDLE_FN static uint64_t part_at(const byte* source, size_t bytes) {
    uint64_t data = 0;
    HEDDLE_ROLLED
    for (size_t i = 0; i < bytes && i < 8; ++i) data |= static_cast<uint64_t>(source[i]) << (8 * i);
    return data;
  }
  HEDDLE_APART HEDDLE_FN static void set_part(byte* target, size_t bytes, uint64_t data) {
    HEDDLE_ROLLED
    for (size_t i = 0; i < bytes && i < 8; ++i) target[i] = static_cast<byte>(data >> (8 * i));
  }
#else
  /// A word, or what is left. A length that the compiler does not know makes the copy a call.
  HEDDLE_FN static void copy_word(void* to, const void* from, size_t left) {
    if (left >= 8)
      memcpy(to, from, 8);
    else
      memcpy(to, from, left);
  }
#endif
  HEDDLE_FN void write_words(ll_line* ring, uint64_t first, const byte* source,
                             size_t bytes) const {
    for (auto w = static_cast<size_t>(block_.rank()); w * 8 < bytes;
         w += static_cast<size_t>(block_.size()))
      ll_store(&ring[(first + w) % mailbox::ll_words], word_at(source, bytes, w),
               flag_of(first + w));
  }
  HEDDLE_FN void settle(int pe, int slot) const {
    uint64_t& borrowed = from(pe).borrowed[slot];
    if (borrowed) team_.await_borrowed(borrowed - 1, pe);
    borrowed = 0;
  }
};

}  // namespace heddle::detail
