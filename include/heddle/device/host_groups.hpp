// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/atomic.hpp>
#include <heddle/device/backoff.hpp>
#include <heddle/device/futex.hpp>
#include <heddle/device/thread_group.hpp>

namespace heddle {

/// A barrier among host threads of one group. A thread that has left (its kernel returned) counts
/// as arrived from then on, as an exited thread of a CUDA block does, so that nobody waits for it.
///
/// State, changed as one word: generation (32 bits) | whether some sleep (1) | members (15) |
/// arrived (16).
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
  static constexpr uint64_t some_sleep = uint64_t{1} << 31;

  static uint32_t generation_of(uint64_t state) { return static_cast<uint32_t>(state >> 32); }
  [[nodiscard]] const uint32_t* generation_word() const {
    static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    return reinterpret_cast<const uint32_t*>(&state_) + 1;
  }

  /// Returns the generation in which the caller arrived.
  uint32_t arrive(uint64_t arrivals, uint64_t departures) {
    uint64_t old = load(&state_, relaxed);
    for (;;) {
      const uint64_t members = ((old >> 16) & 0x7fff) - departures;
      const uint64_t arrived = (old & 0xffff) + arrivals;
      const bool is_last = arrived == members && members > 0;
      const uint64_t next = is_last ? uint64_t{generation_of(old) + 1} << 32 | members << 16
                                    : (old & ~uint64_t{0x7fffffff}) | members << 16 | arrived;
      if (!atomic_ref<uint64_t>(state_).compare_exchange_weak(old, next, acq_rel, relaxed))
        continue;
      if (is_last && old & some_sleep) detail::wake_all(generation_word());
      return generation_of(old);
    }
  }

  /// Looks, and sleeps where there are more threads than cores, since those that look would be in
  /// the way of the ones that they wait for, or after 10 ms.
  void wait(uint32_t generation, uint32_t spin) {
    backoff patience(spin);
    for (;;) {
      uint64_t now = load(&state_, acquire);
      if (generation_of(now) != generation) return;
      if (!patience.is_crowded() && !patience.is_napping())
        patience.pause();
      else if (now & some_sleep || atomic_ref<uint64_t>(state_).compare_exchange_strong(
                                       now, now | some_sleep, relaxed, relaxed))
        detail::sleep_while(generation_word(), generation);
    }
  }

  alignas(cache_line) uint64_t state_;
  int members_;
};

/// Threads of a host block that share one barrier; a null barrier is a group of one thread.
class host_group {
 public:
  HEDDLE_FN host_group(host_group_barrier* barrier, int rank) : barrier_(barrier), rank_(rank) {}

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

/// What the threads of one block have in common; a null barrier is a block of one thread.
struct host_block_state {
  host_group_barrier* barrier = nullptr;
  host_group_barrier* const* warp_barriers = nullptr;  ///< one per warp; null for a warp of one
  int block_rank = 0;
  int num_blocks = 1;
};

/// The threads of one block of a grid that the host executor runs: real threads, all resident. Two
/// words, so that it is passed in registers.
class host_block {
 public:
  static constexpr int warp_size = 32;

  HEDDLE_FN constexpr host_block(const host_block_state* state, int rank)
      : state_(state), rank_(rank) {}

  HEDDLE_FN int size() const { return threads().size(); }
  HEDDLE_FN int rank() const { return rank_; }
  HEDDLE_FN void sync() const { threads().sync(); }
  template <class T>
  HEDDLE_FN T broadcast(T value) const {
    return threads().broadcast(value);
  }
  HEDDLE_FN bool all(bool condition) const { return threads().all(condition); }

  HEDDLE_FN int block_rank() const { return state_->block_rank; }
  HEDDLE_FN int num_blocks() const { return state_->num_blocks; }
  /// Whether it is a lone_thread_block.
  HEDDLE_FN bool is_alone() const { return !state_->barrier && state_->num_blocks == 1; }
  HEDDLE_FN thread_group thread() const { return {}; }
  HEDDLE_FN host_warp warp() const {
    return {state_->warp_barriers ? state_->warp_barriers[rank_ / warp_size] : nullptr,
            rank_ % warp_size};
  }

 private:
  HEDDLE_FN host_group threads() const { return {state_->barrier, rank_}; }

  const host_block_state* state_;
  int rank_;
};

/// A grid of one block of one thread, known to the compiler as such.
class lone_thread_block : public thread_group {
 public:
  HEDDLE_FN static constexpr int block_rank() { return 0; }
  HEDDLE_FN static constexpr int num_blocks() { return 1; }
  HEDDLE_FN thread_group thread() const { return {}; }
  HEDDLE_FN thread_group warp() const { return {}; }
};

/// The same as any other: what runs in the calling thread.
inline constexpr host_block_state one_thread_state;
inline constexpr host_block one_thread_block{&one_thread_state, 0};

}  // namespace heddle
