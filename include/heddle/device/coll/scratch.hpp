// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/link.hpp>
#include <heddle/device/team.hpp>

namespace heddle {

/// The collectives' part of a team's memory: one area per channel, at the same offset on every
/// member, all zero at the start and touched by what is used alone.
///
///   state        counters of this PE
///   one-shot LL      [2 halves][PE] a slot that only that PE writes
///   one-shot LL128   the same
///   one-shot Simple  [2 halves][PE] a header line with a flag, then data
///   two-shot         [PE] an arrival line; staging for buffers that are not symmetric
///   links            see link.hpp
class channel_scratch {
 public:
  static constexpr int max_channels = 8;
  static constexpr int max_one_shot_pes = 64;
  static constexpr size_t ll_capacity = 4096;         ///< bytes of data of a one-shot LL slot
  static constexpr size_t ll128_capacity = 16384;     ///< bytes of data of a one-shot LL128 slot
  static constexpr size_t one_shot_capacity = 65536;  ///< bytes of data of a one-shot Simple slot
  static constexpr size_t staging_capacity = 524288;  ///< bytes of a staging area
  static constexpr int num_links = 7;

  /// Bytes of data of a one-shot slot.
  HEDDLE_FN static constexpr size_t one_shot_bytes(protocol proto) {
    return proto == protocol::simple ? one_shot_capacity
           : proto == protocol::ll   ? ll_capacity
                                     : ll128_capacity;
  }

  /// Counters that live from call to call. Each counts the calls of one kind, the same on every PE.
  struct alignas(2 * cache_line) state_type {
    uint64_t one_shot_ll;
    uint64_t one_shot_simple;
    uint64_t two_shot;
    uint64_t one_shot_ll128;
  };

  /// What a PE tells every other when it enters a two-shot AllReduce.
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

  HEDDLE_FN channel_scratch(const team_ref& team, int channel)
      : base_(team.scratch() + static_cast<size_t>(channel) * bytes_per_channel(team.n_pes())),
        n_pes_(static_cast<size_t>(team.n_pes())) {}

  HEDDLE_FN state_type& state() const { return *reinterpret_cast<state_type*>(base_); }

  HEDDLE_FN ll_line* ll_slot(uint64_t half, int from) const {
    return reinterpret_cast<ll_line*>(base_ + ll_offset()) +
           (half * n_pes_ + static_cast<size_t>(from)) * (ll_capacity / 8);
  }
  HEDDLE_FN ll128_line* ll128_slot(uint64_t half, int from) const {
    return reinterpret_cast<ll128_line*>(base_ + ll128_offset(n_pes_)) +
           (half * n_pes_ + static_cast<size_t>(from)) * ll128_line::count_for(ll128_capacity);
  }
  HEDDLE_FN one_shot_slot& simple_slot(uint64_t half, int from) const {
    return reinterpret_cast<one_shot_slot*>(
        base_ + simple_offset(n_pes_))[half * n_pes_ + static_cast<size_t>(from)];
  }
  HEDDLE_FN arrival& arrival_of(int pe) const {
    return reinterpret_cast<arrival*>(base_ + arrival_offset(n_pes_))[pe];
  }
  /// Segments that peers push to this PE, and results that they push.
  HEDDLE_FN byte* staging_in() const { return base_ + staging_offset(n_pes_); }
  HEDDLE_FN byte* staging_out() const { return staging_in() + staging_capacity; }
  HEDDLE_FN link_memory& link(int index) const {
    return reinterpret_cast<link_memory*>(base_ + link_offset(n_pes_))[index];
  }

  HEDDLE_FN static constexpr size_t bytes_per_channel(int n_pes) {
    return link_offset(static_cast<size_t>(n_pes)) + num_links * sizeof(link_memory);
  }
  HEDDLE_FN static constexpr size_t bytes_per_team(int n_pes) {
    return max_channels * bytes_per_channel(n_pes);
  }

 private:
  HEDDLE_FN static constexpr size_t one_shot_pes(size_t n) { return n <= max_one_shot_pes ? n : 0; }
  HEDDLE_FN static constexpr size_t aligned(size_t bytes) {
    return (bytes + 2 * cache_line - 1) / (2 * cache_line) * (2 * cache_line);
  }
  HEDDLE_FN static constexpr size_t ll_offset() { return sizeof(state_type); }
  HEDDLE_FN static constexpr size_t ll128_offset(size_t n) {
    return aligned(ll_offset() + 2 * one_shot_pes(n) * ll_capacity / 8 * sizeof(ll_line));
  }
  HEDDLE_FN static constexpr size_t simple_offset(size_t n) {
    return aligned(ll128_offset(n) + 2 * one_shot_pes(n) * ll128_line::count_for(ll128_capacity) *
                                         sizeof(ll128_line));
  }
  HEDDLE_FN static constexpr size_t arrival_offset(size_t n) {
    return simple_offset(n) + 2 * one_shot_pes(n) * sizeof(one_shot_slot);
  }
  HEDDLE_FN static constexpr size_t staging_offset(size_t n) {
    return arrival_offset(n) + n * sizeof(arrival);
  }
  HEDDLE_FN static constexpr size_t link_offset(size_t n) {
    return aligned(staging_offset(n) + 2 * staging_capacity);
  }

  byte* base_;
  size_t n_pes_;
};

}  // namespace heddle
