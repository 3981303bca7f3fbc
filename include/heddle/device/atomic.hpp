// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/platform.hpp>

#if defined(__CUDACC__)
#include <cuda/atomic>
#else
#include <atomic>
#endif

namespace heddle {

/// An atomic view of a word that other PEs see: system scope.
///
/// Memory is ordered by acquire and release operations on such views, not by fences: that is what
/// ThreadSanitizer understands, and it costs no more on any target; but where one thread tells
/// many, CUDA fences once (ordered_by_fence).
#if defined(__CUDACC__)
template <class T>
using atomic_ref = cuda::atomic_ref<T, cuda::thread_scope_system>;
using memory_order = cuda::std::memory_order;
inline constexpr memory_order relaxed = cuda::std::memory_order_relaxed;
inline constexpr memory_order acquire = cuda::std::memory_order_acquire;
inline constexpr memory_order release = cuda::std::memory_order_release;
inline constexpr memory_order acq_rel = cuda::std::memory_order_acq_rel;
#else
template <class T>
using atomic_ref = std::atomic_ref<T>;
using memory_order = std::memory_order;
inline constexpr memory_order relaxed = std::memory_order_relaxed;
inline constexpr memory_order acquire = std::memory_order_acquire;
inline constexpr memory_order release = std::memory_order_release;
inline constexpr memory_order acq_rel = std::memory_order_acq_rel;
#endif

template <class T>
HEDDLE_FN T load(const T* word, memory_order order) {
  return atomic_ref<T>(*const_cast<T*>(word)).load(order);
}

template <class T>
HEDDLE_FN void store(T* word, T value, memory_order order) {
  atomic_ref<T>(*word).store(value, order);
}

/// Orders all earlier memory operations of this thread before all later ones, as seen by every PE.
/// The one full fence: `quiet` needs it, since nothing after it may pass the puts before it.
HEDDLE_FN inline void system_fence() {
#if HEDDLE_ON_CUDA
  asm volatile("fence.sc.sys;" ::: "memory");
#elif HEDDLE_UNDER_THREAD_SANITIZER
  // ThreadSanitizer knows no fences. A locked operation is the same barrier on x86, and on others
  // the sanitizer itself orders its atomics.
  int word = 0;
  std::atomic_ref<int>(word).fetch_add(1, std::memory_order_seq_cst);
#elif defined(__CUDACC__)
  cuda::std::atomic_thread_fence(cuda::std::memory_order_seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

/// The order of a store or atomic that a `fence` before it must precede. On CUDA `fence` is a real
/// fence and the operation may be relaxed; on the host the operation itself releases, which x86 and
/// the sanitizers take for what it is, and `fence` is nothing.
#if HEDDLE_ON_CUDA
inline constexpr memory_order ordered_by_fence = relaxed;
#else
inline constexpr memory_order ordered_by_fence = release;
#endif

/// That fence.
HEDDLE_FN inline void release_fence() {
#if HEDDLE_ON_CUDA
  asm volatile("fence.acq_rel.sys;" ::: "memory");
#endif
}

/// A word that another PE had written when this group learned that it had, and writes no more: CUDA
/// takes it from the nearest cache. The host's is an atomic load, as sanitizers see it.
HEDDLE_FN inline uint64_t load_settled(const uint64_t& word) {
#if HEDDLE_ON_CUDA
  return word;
#else
  return load(&word, relaxed);
#endif
}

/// Brings the line of what will be read soon, on the host.
HEDDLE_FN inline void prefetch([[maybe_unused]] const void* address) {
#if !HEDDLE_ON_CUDA
  __builtin_prefetch(address);
#endif
}

#if !HEDDLE_ON_CUDA && defined(__x86_64__)
/// Between cores of Intel's a line that two share is taken from both as quickly as from one, and
/// what take_back() stores holds up the stores of the next message: 0.79 us and not 0.39 for 1 KiB
/// by lines, where AMD's take 0.20 and not 0.30 (bare_limits all_reduce, "..._take").
inline const bool takes_lines_back = !__builtin_cpu_is("intel");
#endif

/// What a reader does with a mailbox line when it has read it: it writes a word of the line that
/// nobody reads, and so has the line for itself in its cache. The sender's next write then fetches
/// the line from one place, where it would otherwise have to take it from two that share it: half
/// the time of a small message between host processors, other than Intel's. Nothing on CUDA, whose
/// mailboxes are in memory or the shared second-level cache.
HEDDLE_FN inline void take_back([[maybe_unused]] uint64_t* word) {
#if !HEDDLE_ON_CUDA
#if defined(__x86_64__)
  if (!takes_lines_back) return;
#endif
  *static_cast<volatile uint64_t*>(word) = 0;
#endif
}

}  // namespace heddle
