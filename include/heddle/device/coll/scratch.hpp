// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/coll/mailbox.hpp>
#include <heddle/device/link.hpp>
#include <heddle/device/team.hpp>

namespace heddle {

/// The memory of a hop on one PE (hop.hpp): what comes from the PE before, and its own counts of
/// what it sends to the PE behind. Zero at the start.
struct hop_memory {
  static constexpr int slots = 4;
  static constexpr size_t slot_bytes = 32768;

  alignas(2 * cache_line) uint64_t tail;    ///< slots that the PE before has filled
  alignas(2 * cache_line) uint64_t credit;  ///< slots that the PE behind has emptied
  alignas(2 * cache_line) uint64_t sent;
  uint64_t received;
  alignas(2 * cache_line) byte slot[slots][slot_bytes];
  byte outgoing[slots][slot_bytes];  ///< what the network takes, of what this PE sends
};

/// What a PE of a large team has of its transfers with another (large_transfers.hpp). Zero at the
/// start.
struct pair_memory {
  struct place {
    uint64_t offset;  ///< in the heap, or `not_symmetric`
    uint64_t bytes;
  };
  // Written by the other, of what it sends to this PE.
  alignas(cache_line) uint64_t request;  ///< sends that it has begun (release, after the source)
  place source;                          ///< of the last
  uint64_t brought;                      ///< pieces that it has brought here
  // Written by the other, of what it receives from this PE.
  alignas(cache_line) uint64_t answer;  ///< pieces that it has asked for or taken (release as well)
  place target;                         ///< of the last; not symmetric: it has taken all itself
  // This PE's own.
  alignas(cache_line) uint64_t sends;
  uint64_t receives;
  uint64_t pieces_sent;
  uint64_t pieces_received;
  uint64_t borrowed;  ///< the last send to it whose source is in use, plus one; 0: none is
};

/// The collectives' part of a team's memory, at the same offset on every member, all zero at the
/// start and touched by what is used alone. [c] is by channel, [pe] by PE:
///
///     state      [c]             counters of this PE
///     arrivals   [c][pe]         see entry.hpp: lines that only that PE writes
///     staging    [c]             two-shot, for buffers that are not symmetric: pieces to combine,
///                                and results; all channels of a call share one area. Among the
///                                results of large teams what reduce_scatter_in_rounds.hpp has
///                                combined
///     one-shot   [c][half][pe]   slots that only that PE writes: of LL words, of LL128 lines, or
///                                a flag and data (exchange_by_leaders.hpp: others write there for
///                                it, and it elsewhere)
///     mailboxes  [c][pe]         see mailbox.hpp
///     wide rings [c][pe]         the same: of teams of up to max_wide_pes, of host devices alone
///     links      [c]             see link.hpp
///     hops       [c]             see hop.hpp; of large teams alone, as the pairs. Links are after
///                                all that small teams have, so that a team without rings and trees
///                                can do without their memory
///     pairs      [pe]            see large_transfers.hpp, whose landings are in the staging area
class channel_scratch {
 public:
  static constexpr int max_channels = 64;
  static constexpr int max_slot_channels = 16;  ///< of one-shot, ring and tree, which have slots
  static constexpr int max_direct_pes = 64;     ///< of one-shot and two-shot, and entries
  static constexpr size_t ll_capacity = 4096;   ///< bytes of data of a one-shot LL slot
  static constexpr size_t ll_lines = ll_capacity / 8;
  static constexpr size_t ll128_capacity = 16384;     ///< bytes of data of a one-shot LL128 slot
  static constexpr size_t one_shot_capacity = 16384;  ///< bytes of data of a one-shot Simple slot
  static constexpr int max_wide_pes = 16;             ///< of a team with wide rings
  static constexpr int max_wide_channels = 2;
  static constexpr int num_links = 8;
  static constexpr int rail_link = 7;  ///< of the ring across domains, and a Reduce of two
  static constexpr int max_hop_channels = 4;
  static constexpr int num_hops = 16;                        ///< of 2^16 PEs
  static constexpr size_t most_staging = size_t{512} << 10;  ///< bytes of a channel

  /// Bytes of data of a one-shot slot.
  HEDDLE_FN static constexpr size_t one_shot_bytes(protocol proto) {
    return proto == protocol::simple ? one_shot_capacity
           : proto == protocol::ll   ? ll_capacity
                                     : ll128_capacity;
  }

  /// Channels of what goes by mailboxes in a team with remote PEs: each lends up to all slots to
  /// each of them at a time, and half of the queue to the proxy has room for these commands (not
  /// for those that carry messages of a row, of which there may be fewer).
  HEDDLE_FN static constexpr int network_channels(int n_pes) {
    const int channels = static_cast<int>(command_queue_ref::slots) / (2 * mailbox::slots * n_pes);
    return channels < 1 ? 1 : channels < max_slot_channels ? channels : max_slot_channels;
  }

  /// Counters that live from call to call. Each counts the calls of one kind, the same on every PE.
  struct alignas(2 * cache_line) state_type {
    uint64_t one_shot_ll;
    uint64_t one_shot_simple;
    uint64_t entries;  ///< see entry.hpp
    uint64_t one_shot_ll128;
  };

  /// What a PE tells every other when it enters a call: see entry.hpp.
  struct alignas(2 * cache_line) arrival {
    uint64_t epoch;  ///< written last (release)
    uint64_t input;  ///< offset in the heap, or `not_symmetric`
    uint64_t output;
    uint64_t taken;  ///< see take_back
  };
  static constexpr uint64_t not_symmetric = ~uint64_t{0};

  struct alignas(2 * cache_line) one_shot_slot {
    uint64_t epoch;
    uint64_t taken;  ///< see take_back
    alignas(cache_line) byte data[one_shot_capacity];
  };

  /// Of one of the channels of a call.
  HEDDLE_FN channel_scratch(const team_ref& team, int channel, int channels)
      : base_(team.scratch()),
        channel_(static_cast<size_t>(channel)),
        channels_(static_cast<size_t>(channels)),
        n_pes_(static_cast<size_t>(team.n_pes())) {}

  HEDDLE_FN state_type& state() const { return reinterpret_cast<state_type*>(base_)[channel_]; }
  HEDDLE_FN arrival& arrival_of(int pe) const {
    return reinterpret_cast<arrival*>(
        base_ + arrival_offset())[channel_ * n_pes_ + static_cast<size_t>(pe)];
  }

  /// Segments that peers push to this PE, and results that they push: staging_capacity() bytes
  /// each.
  HEDDLE_FN byte* staging_in() const {
    return base_ + staging_offset(n_pes_) + channel_ * staging_capacity();
  }
  HEDDLE_FN byte* staging_out() const { return staging_in() + staging_bytes; }
  HEDDLE_FN size_t staging_capacity() const {
    if (channels_ == 1) return most_staging;  // nearly all calls of host processors
    const size_t even = staging_bytes / channels_ / line * line;
    return even < most_staging ? even : most_staging;
  }

  HEDDLE_FN ll_line* ll_slot(uint64_t half, int from) const {
    return reinterpret_cast<ll_line*>(one_shot_area()) +
           (half * n_pes_ + static_cast<size_t>(from)) * ll_lines;
  }
  HEDDLE_FN ll128_line* ll128_slot(uint64_t half, int from) const {
    return reinterpret_cast<ll128_line*>(one_shot_area() + ll_bytes(n_pes_)) +
           (half * n_pes_ + static_cast<size_t>(from)) * ll128_line::count_for(ll128_capacity);
  }
  HEDDLE_FN one_shot_slot& simple_slot(uint64_t half, int from) const {
    return reinterpret_cast<one_shot_slot*>(
        one_shot_area() + ll_bytes(n_pes_) +
        ll128_bytes(n_pes_))[half * n_pes_ + static_cast<size_t>(from)];
  }
  /// What `pe` sends to this PE.
  HEDDLE_FN mailbox& mailbox_of(int pe) const {
    return reinterpret_cast<mailbox*>(
        base_ + mailbox_offset(n_pes_))[channel_ * n_pes_ + static_cast<size_t>(pe)];
  }
  /// [pe]: where its packets come, if it is remote; null: in its mailbox. (A GPU's memory is dear,
  /// and a look at what is waited for takes it longer than a word of credit.)
  HEDDLE_FN mailbox::wide_ring* wide_rings() const {
    if (HEDDLE_ON_CUDA || n_pes_ > max_wide_pes || channel_ >= max_wide_channels) return nullptr;
    return reinterpret_cast<mailbox::wide_ring*>(base_ + wide_offset(n_pes_)) + channel_ * n_pes_;
  }
  /// `num_links` of them.
  HEDDLE_FN link_memory* links() const {
    return reinterpret_cast<link_memory*>(base_ + link_offset(n_pes_, on_cuda)) +
           channel_ * num_links;
  }

  /// Of a team of more than max_direct_pes.
  HEDDLE_FN hop_memory& hop(int k) const {
    return reinterpret_cast<hop_memory*>(base_ + link_offset(n_pes_, on_cuda) +
                                         links_bytes)[channel_ * num_hops + static_cast<size_t>(k)];
  }

  /// The same: of transfers with `pe`.
  HEDDLE_FN pair_memory& pair_with(int pe) const {
    return reinterpret_cast<pair_memory*>(base_ + link_offset(n_pes_, on_cuda) + links_bytes +
                                          hops_bytes)[static_cast<size_t>(pe)];
  }
  static constexpr int num_landings = 16;
  static constexpr size_t landing_bytes = size_t{256} << 10;
  /// In the results' half of the staging area: others write that only when this PE has entered the
  /// same AllReduce, and so has ended what lands here.
  HEDDLE_FN byte* landing(int index) const {
    return base_ + staging_offset(n_pes_) + staging_bytes +
           static_cast<size_t>(index) * landing_bytes;
  }

  /// Of any team of at most n_pes PEs. (The larger ones have no direct algorithms.)
  HEDDLE_FN static constexpr size_t bytes_per_team(int n_pes, bool with_links = true,
                                                   bool of_cuda = false) {
    const bool is_large = n_pes > max_direct_pes;
    return link_offset(static_cast<size_t>(is_large ? max_direct_pes : n_pes), of_cuda) +
           (with_links ? links_bytes : 0) +
           (is_large ? hops_bytes + static_cast<size_t>(n_pes) * sizeof(pair_memory) : 0);
  }

 private:
  static constexpr bool on_cuda = HEDDLE_ON_CUDA;
  static constexpr size_t line = 2 * cache_line;
  static constexpr size_t staging_bytes = size_t{4} << 20;  ///< of all channels, in one direction
  static constexpr size_t links_bytes = size_t{max_slot_channels} * num_links * sizeof(link_memory);
  static constexpr size_t hops_bytes = size_t{max_hop_channels} * num_hops * sizeof(hop_memory);
  static_assert(num_landings * landing_bytes <= staging_bytes);

  HEDDLE_FN static constexpr size_t direct_pes(size_t n) { return n <= max_direct_pes ? n : 0; }
  HEDDLE_FN static constexpr size_t arrival_offset() { return max_channels * sizeof(state_type); }
  HEDDLE_FN static constexpr size_t staging_offset(size_t n) {
    return arrival_offset() + max_channels * direct_pes(n) * sizeof(arrival);
  }
  HEDDLE_FN static constexpr size_t one_shot_offset(size_t n) {
    return staging_offset(n) + 2 * staging_bytes;
  }
  HEDDLE_FN static constexpr size_t ll_bytes(size_t n) {
    return 2 * direct_pes(n) * ll_lines * sizeof(ll_line);
  }
  HEDDLE_FN static constexpr size_t ll128_bytes(size_t n) {
    return 2 * direct_pes(n) * ll128_line::count_for(ll128_capacity) * sizeof(ll128_line);
  }
  HEDDLE_FN static constexpr size_t one_shot_area_bytes(size_t n) {
    return ll_bytes(n) + ll128_bytes(n) + 2 * direct_pes(n) * sizeof(one_shot_slot);
  }
  HEDDLE_FN byte* one_shot_area() const {
    return base_ + one_shot_offset(n_pes_) + channel_ * one_shot_area_bytes(n_pes_);
  }
  HEDDLE_FN static constexpr size_t mailbox_offset(size_t n) {
    return one_shot_offset(n) + max_slot_channels * one_shot_area_bytes(n);
  }
  HEDDLE_FN static constexpr size_t wide_offset(size_t n) {
    return mailbox_offset(n) + max_slot_channels * direct_pes(n) * sizeof(mailbox);
  }
  /// Teams of more have room for the wide rings of smaller ones, which may take their place.
  HEDDLE_FN static constexpr size_t link_offset(size_t n, bool of_cuda) {
    const size_t wide = n < max_wide_pes ? n : direct_pes(n) > 0 ? max_wide_pes : 0;
    return wide_offset(n) + (of_cuda ? 0 : max_wide_channels * wide * sizeof(mailbox::wide_ring));
  }

  byte* base_;
  size_t channel_;
  size_t channels_;
  size_t n_pes_;
};

}  // namespace heddle
