// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/ll.hpp>
#include <heddle/device/team.hpp>

/// Mailboxes: what one PE of a team sends to another directly, in one channel.
///
///     sender                                     receiver
///     ------                                     --------
///     waits: emptied + units >= sent + those of the next step
///     writes units, from sent % units on  ---->  waits for the first one's flag, reads them
///                                <-------------  credit = received, where it sends nothing back:
///                                                whenever a quarter of the units is new
///     or: anything that comes    <-------------  anything that it sends later
///
/// Every ordered pair of PEs has its own ring of units, at the receiver, and its own count of them,
/// which grows for ever on both sides. So a pair may exchange as much as it likes, in either
/// direction, whatever the others do: all that is needed is that both name the messages of the pair
/// in the same order. LL words are units of 8 bytes in a ring of their own; the flag of one is the
/// ring's round, so that none is ever stale.
///
/// A slot takes as many units whatever it holds, and there are few: where both send and nobody runs
/// ahead, those that are in use stay in the caches. A packet takes as many as its bytes need, so
/// that a sender of few bytes runs far ahead, and it may be larger, so that through the network one
/// of many bytes costs little more than one of few. Slots, packets that would not end before the
/// ring's end, and those of large pieces begin at a multiple of the largest: both ends know where.
/// In small teams the network has wider rings, since a credit through it costs as much as a packet:
/// four of the others' one behind the other, so that packets begin where they do in those.
/// Where a sender through the network cannot know that there is room for what comes next, the
/// receiver, which can, says so before it waits.
///
/// In an exchange credit is free where both send: what a PE sends in step n tells that it has
/// emptied all that it was sent in the steps before. Only who receives in a step and sends nothing
/// back says so by a word of its own. At most one step is then unaccounted for, and there is room
/// for several. Sends and receives have no steps in common: they always use the word.
namespace heddle {

/// The memory on one PE, for one channel, of what another sends to it. Zero at the start.
struct mailbox {
  /// A processor's steps cost little, so that more slots, which let a sender run ahead, are worth
  /// more to it than large ones.
  static constexpr int slots = HEDDLE_ON_CUDA ? 4 : 8;
  static constexpr int most_slots = 8;
  static constexpr size_t simple_bytes = 65536;
  static constexpr size_t simple_capacity = simple_bytes / slots;  ///< bytes of a slot
  static constexpr int ll_words = 1024;
  static constexpr size_t ll_step = 2048;  ///< bytes by words that a step moves at most
  static_assert(ll_step / 8 * 4 == ll_words);
  static constexpr size_t unit_bytes = 1024;
  static constexpr int units = simple_bytes / unit_bytes;
  // So that counts are rounded without a division.
  static_assert((units & (units - 1)) == 0 && (slots & (slots - 1)) == 0);
  /// A piece goes in one packet up to these bytes, and else in smaller ones, so that several are
  /// under way.
  static constexpr size_t most_at_once = simple_bytes / 2;
  static constexpr size_t packet_capacity = simple_bytes / 4;

  /// What moves by slots and packets, or by words, in both directions.
  struct flow {
    uint64_t sent;      ///< units (words) that this PE has filled at the other
    uint64_t received;  ///< units of this mailbox that it has emptied
    uint64_t emptied;   ///< units at the other of which it knows that they are empty again
    uint64_t told;      ///< of those received, the other knows of so many
  };
  /// As what two PEs meet, to move a piece directly: for an exchange both do both.
  enum role : int { both = 0, sender = 1, receiver = 2 };
  static constexpr int num_roles = 3;
  /// Where a PE has what it exchanges with another: offsets in the heap, or `not_symmetric`.
  struct alignas(2 * cache_line) meeting {
    uint64_t count;   ///< written last (release)
    uint64_t source;  ///< of what it sends
    uint64_t source_bytes;
    uint64_t target;  ///< of what it receives
    uint64_t target_bytes;
    /// Of what it sends and either could copy, it copies the first of so many equal parts; 0: none.
    uint64_t parts;
    uint64_t taken;  ///< see take_back
  };
  struct alignas(2 * cache_line) unit_flag {
    uint64_t filled;  ///< the count with which the slot or packet here begins, plus one
    uint64_t taken;   ///< see take_back
  };
  /// Where slots and packets come.
  template <int Units>
  struct ring {
    static constexpr int units = Units;
    unit_flag flags[Units];
    alignas(2 * cache_line) byte bytes[Units * unit_bytes];

    /// With which a slot or packet of that count begins.
    HEDDLE_FN unit_flag& flag(uint64_t number) { return flags[number % Units]; }
    HEDDLE_FN byte* unit(uint64_t number) { return bytes + number % Units * unit_bytes; }
  };
  /// Of what a remote PE sends, in the channels and teams that have one (scratch.hpp).
  using wide_ring = ring<4 * units>;

  // This PE's own.
  alignas(2 * cache_line) flow ll_flow;
  flow simple_flow;
  uint64_t meetings[num_roles];  ///< with the other PE, by the role of this one
  uint64_t chunks_sent;          ///< to the other, of relays (relay.hpp)
  uint64_t chunks_received;
  uint64_t
      borrowed[most_slots];  ///< sends to it, if it is remote, of which the source is still in use

  // Written by the other.
  alignas(2 * cache_line) uint64_t ll_credit;  ///< LL words that the other has emptied
  uint64_t simple_credit;
  meeting place[num_roles];      ///< by the role of the other
  mailbox_word left[num_roles];  ///< meetings that the other has left, by its role
  mailbox_word chunks;           ///< of relays, that the other has brought or has
  alignas(2 * cache_line) ll_line ll[ll_words];
  ring<units> simple;
};

}  // namespace heddle
