// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/cuda_groups.hpp>
#include <heddle/device/thread_group.hpp>
#if !defined(__CUDACC_RTC__)  // NVRTC has no host functions
#include <heddle/device/host_groups.hpp>
#endif

namespace heddle {

/// The threads that make one call together: one thread, a warp or a block. The first argument of
/// everything that threads do together; all of them must call, with the same arguments.
///
///   size(), rank()     how many threads, and which one this is
///   sync()             all threads have arrived; what each wrote before, all may read after
///   broadcast(value)   rank 0's value (trivially copyable, at most 8 bytes), on every thread
///   all(condition)     whether it holds on every thread
template <class G>
concept group = requires(const G& g, uint64_t value, bool condition) {
  { g.size() } -> standard::convertible_to<int>;
  { g.rank() } -> standard::convertible_to<int>;
  g.sync();
  { g.broadcast(value) } -> standard::convertible_to<uint64_t>;
  { g.all(condition) } -> standard::convertible_to<bool>;
};

/// A group that is a block of a launched grid: what a kernel gets.
///
///   block_rank(), num_blocks()   which block of the grid, and how many
///   thread(), warp()             the calling thread, and its warp, as groups
template <class B>
concept block_group = group<B> && requires(const B& b) {
  { b.block_rank() } -> standard::convertible_to<int>;
  { b.num_blocks() } -> standard::convertible_to<int>;
  { b.thread() } -> group;
  { b.warp() } -> group;
};

static_assert(group<thread_group>);
#if !defined(__CUDACC_RTC__)
static_assert(group<host_warp>);
static_assert(block_group<host_block>);
static_assert(block_group<lone_thread_block>);
template <class B>
inline constexpr bool is_lone_thread = standard::is_same_v<B, lone_thread_block>;
#else
template <class B>
inline constexpr bool is_lone_thread = false;
#endif
#if defined(__CUDACC__)
static_assert(group<cuda_warp>);
static_assert(block_group<cuda_block>);
#endif

}  // namespace heddle
