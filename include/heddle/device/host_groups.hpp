// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/atomic.hpp>
#include <heddle/device/backoff.hpp>

namespace heddle {

/// One thread: synchronises with nobody.
class thread_group {
 public:
  HEDDLE_FN static constexpr int size() { return 1; }
  HEDDLE_FN static constexpr int rank() { return 0; }
  HEDDLE_FN void sync() const {}
  template <class T>
  HEDDLE_FN T broadcast(T value) const {
    return value;
  }
  HEDDLE_FN bool all(bool condition) const { return condition; }
};

/// A barrier among host threads of one group. A thread that has left (its kernel returned) counts
/// as arrived from then on, as an exited thread of a CUDA block does, so that nobody waits for it.
///
/// State: generation (32 bits) | members (16) | arrived (16), changed as one word.
class host_group_barrier {
 public:
  explicit host_group_barrier(int members)
      : state_(static_cast<uint64_t>(members) << 16), members_(members) {}

  void arrive_and_wait(uint32_t spin) { wait(arrive(1, 0), spin); }
  void leave() { arrive(0, 1); }
  [[nodiscard]] int members() const { return members_; }

  /// Words through which the threads exchange a value; written before a sync, read after it.
  uint64_t value = 0;
  uint32_t failures = 0;

 private:
  /// Returns the generation in which the caller arrived.
  uint32_t arrive(uint64_t arrivals, uint64_t departures) {
    uint64_t old = load(&state_, relaxed);
    for (;;) {
      uint64_t generation = old >> 32;
      const uint64_t members = ((old >> 16) & 0xffff) - departures;
      uint64_t arrived = (old & 0xffff) + arrivals;
      if (arrived == members && members > 0) {
        arrived = 0;
        ++generation;
      }
      const uint64_t next = generation << 32 | members << 16 | arrived;
      if (atomic_ref<uint64_t>(state_).compare_exchange_weak(old, next, acq_rel, relaxed))
        return static_cast<uint32_t>(old >> 32);
    }
  }

  void wait(uint32_t generation, uint32_t spin) {
    backoff patience(spin);
    while (static_cast<uint32_t>(load(&state_, acquire) >> 32) == generation) patience.pause();
  }

  alignas(cache_line) uint64_t state_;
  int members_;
};

/// Threads of a host block that share one barrier; a null barrier is a group of one thread.
class host_group {
 public:
  HEDDLE_FN constexpr host_group(host_group_barrier* barrier, int rank) : barrier_(barrier), rank_(rank) {}

  HEDDLE_FN int size() const { return barrier_ ? size_of(barrier_) : 1; }
  HEDDLE_FN int rank() const { return rank_; }
  HEDDLE_FN void sync() const {
    if (barrier_) wait_for_all();
  }

  template <class T>
  HEDDLE_FN T broadcast(T value) const {
    static_assert(sizeof(T) <= 8 && standard::is_trivially_copyable_v<T>);
    if (barrier_) exchange(&value, sizeof(T));
    return value;
  }

  HEDDLE_FN bool all(bool condition) const { return barrier_ ? all_of_many(condition) : condition; }

 private:
  // Host code in functions of its own, so that HEDDLE_FN members compile under nvcc too.
#if HEDDLE_ON_CUDA
  HEDDLE_FN static int size_of(host_group_barrier*) { return 1; }
  HEDDLE_FN void wait_for_all() const {}
  HEDDLE_FN void exchange(void*, size_t) const {}
  HEDDLE_FN bool all_of_many(bool condition) const { return condition; }
#else
  static constexpr uint32_t spin = 16;

  HEDDLE_FN static int size_of(const host_group_barrier* barrier) { return barrier->members(); }
  HEDDLE_FN void wait_for_all() const { barrier_->arrive_and_wait(spin); }
  HEDDLE_FN void exchange(void* value, size_t bytes) const {
    if (rank_ == 0) std::memcpy(&barrier_->value, value, bytes);
    wait_for_all();
    std::memcpy(value, &barrier_->value, bytes);
    wait_for_all();
  }
  HEDDLE_FN bool all_of_many(bool condition) const {
    if (!condition) atomic_ref<uint32_t>(barrier_->failures).fetch_add(1, relaxed);
    wait_for_all();
    const bool result = load(&barrier_->failures, relaxed) == 0;
    wait_for_all();
    if (rank_ == 0) store(&barrier_->failures, 0u, relaxed);
    wait_for_all();
    return result;
  }
#endif

  host_group_barrier* barrier_;
  int rank_;
};

/// Up to 32 consecutive threads of a host block.
class host_warp : public host_group {
 public:
  using host_group::host_group;
};

/// The threads of one block of a grid that the host executor runs: real threads, all resident.
class host_block : public host_group {
 public:
  static constexpr int warp_size = 32;

  /// A block of one thread.
  HEDDLE_FN constexpr host_block(int block_rank, int num_blocks)
      : host_group(nullptr, 0), block_rank_(block_rank), num_blocks_(num_blocks) {}
  host_block(host_group_barrier* barrier, host_group_barrier* warp_barrier, int rank,
             int block_rank, int num_blocks)
      : host_group(barrier, rank),
        warp_barrier_(warp_barrier),
        block_rank_(block_rank),
        num_blocks_(num_blocks) {}

  HEDDLE_FN int block_rank() const { return block_rank_; }
  HEDDLE_FN int num_blocks() const { return num_blocks_; }
  HEDDLE_FN thread_group thread() const { return {}; }
  HEDDLE_FN host_warp warp() const { return {warp_barrier_, rank() % warp_size}; }

 private:
  host_group_barrier* warp_barrier_ = nullptr;
  int block_rank_;
  int num_blocks_;
};

}  // namespace heddle
