// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/types.hpp>

namespace heddle {

/// What a thread waits in, for messages.
enum class operation : uint32_t {
  none = 0,
  wait_until = 1,
  barrier = 2,
  all_reduce = 3,
  link_send = 4,
  link_receive = 5,
  // Through the proxy:
  put = 6,
  get = 7,
  atomic = 8,
  quiet = 9,
  command_queue = 10,  ///< for room in it
  // Collectives that combine nothing:
  broadcast = 11,
  all_gather = 12,
  all_to_all = 13,
  gather = 14,
  scatter = 15,
  send = 16,
  receive = 17,
  reduce_scatter = 18,
  reduce = 19
};

/// One wait as the host reports it. Peers read it too, to follow who waits for whom, hence atomics.
struct wait_record {
  uint32_t state;       ///< 0 empty, 1 being written, 2 complete
  uint32_t operation;   ///< enum operation
  int32_t peer;         ///< index in the team of the PE waited for; -1 if any may update the word
  uint32_t comparison;  ///< enum cmp
  uint64_t address;     ///< offset of the word in the heap
  uint64_t expected;
  uint64_t seen;
  uint64_t waited_ns;
};

/// A word that another PE writes, with cache lines to itself: two, since processors fetch them in
/// pairs.
struct alignas(2 * cache_line) mailbox_word {
  uint64_t value;
  uint64_t taken;  ///< see take_back
};

/// One barrier of a team. `epoch` counts the barriers that this PE has entered, and lives here so
/// that a replayed graph goes on counting. Words are never reset: a wait is for `arrived >= epoch`.
struct barrier_memory {
  static constexpr int max_direct = 16;  ///< up to so many PEs each tells every other
  static constexpr int max_rounds = 16;  ///< dissemination: 2^16 PEs

  mailbox_word epoch;
  mailbox_word arrived[max_direct];
  mailbox_word round[max_rounds];
};

/// Why a team was aborted: the lower 8 bits of the abort word.
enum class abort_reason : uint32_t { none = 0, timeout = 1, peer_lost = 2, user = 3, mismatch = 4 };

/// The abort word: 0, or reason (8 bits) | culprit + 1 (28 bits) | reporter + 1 (28 bits), PEs of
/// the team.
struct abort_code {
  abort_reason reason;
  int culprit;   ///< the lost PE, or the PE waited for; -1 if unknown
  int reporter;  ///< who aborted the team; -1 if unknown

  HEDDLE_FN static abort_code from_word(uint64_t word) {
    return {static_cast<abort_reason>(word & 0xff), static_cast<int>((word >> 8) & 0xfffffff) - 1,
            static_cast<int>((word >> 36) & 0xfffffff) - 1};
  }
  HEDDLE_FN uint64_t to_word() const {
    return static_cast<uint64_t>(reason) | static_cast<uint64_t>(culprit + 1) << 8 |
           static_cast<uint64_t>(reporter + 1) << 36;
  }
};

/// How a team fails: words that kernels and the hosts of all its members see, in host memory on
/// every device. All zero at the start. Between a processor and a GPU, or two GPUs, that share it
/// over PCIe, a compare-and-swap need not be one step: of two that abort a team in the same moment
/// either may be the one that is told of, and no wait goes on.
///
/// Beside a heap in GPU memory there is a twin in that, of which the abort word alone is used: the
/// alarm. Not 0: the abort word may be set. Kernels look at it, and at the abort word seldom: looks
/// at host memory go one after the other, 1 us each, of all blocks of a GPU (an H200).
struct team_control {
  alignas(cache_line) uint64_t abort_word;  ///< written by any member, or by its host
  alignas(cache_line) wait_record failure;  ///< the wait that passed its deadline on this PE
  alignas(cache_line) wait_record waiting;  ///< what this PE waits for now, once it has waited long
  /// The failure of the PE that has aborted the team here, if it is remote.
  alignas(cache_line) wait_record told;
};

/// A team's part of the symmetric heap, at the same offset on every member. All zero at the start.
struct team_memory {
  /// Barriers that may be used at the same time, each by one group per PE: the first are for users'
  /// kernels, the last for the channels of collectives.
  static constexpr int num_barriers = 112;
  static constexpr int num_user_barriers = 29;
  static constexpr int stream_barrier = 29;
  static constexpr int host_barrier = 30;
  static constexpr int exchange_barrier = 31;
  static constexpr int first_channel_barrier = 32;
  static constexpr int first_domain_barrier = 96;  ///< of channels too: among the PEs of a domain

  barrier_memory barriers[num_barriers];
};

}  // namespace heddle
