// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What differs between compilers: one source is compiled by a host compiler, by nvcc and by NVRTC.
///
/// HEDDLE_FN marks a function that runs in kernels of every device. Bodies that differ test
/// HEDDLE_ON_CUDA, in leaf functions alone, each beside its host twin.
///
/// HEDDLE_HOT and HEDDLE_COLD keep a host compiler from passing small structures through memory on
/// the way between two hops: what is read back in wider pieces than it was written waits for the
/// processor's store buffer, in which the stores to other PEs' lines are, as long as a hop.
///
/// HEDDLE_APART keeps nvcc from copying a large function to each place that calls it, HEDDLE_ROLLED
/// from unrolling the loop after it: for what waits, or runs once for each PE.

#if defined(__CUDACC__)
#include <cuda/std/atomic>
#include <cuda/std/concepts>
#include <cuda/std/cstddef>
#include <cuda/std/cstdint>
#include <cuda/std/type_traits>
#define HEDDLE_FN __host__ __device__
#define HEDDLE_HOT
#define HEDDLE_COLD
#define HEDDLE_APART __noinline__
#else
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#define HEDDLE_FN
#define HEDDLE_HOT [[gnu::always_inline]]
#define HEDDLE_COLD [[gnu::noinline]]
#define HEDDLE_APART
#endif

#if defined(__CUDA_ARCH__)
#define HEDDLE_ON_CUDA 1
#define HEDDLE_ROLLED _Pragma("unroll 1")
#else
#define HEDDLE_ON_CUDA 0
#define HEDDLE_ROLLED
#include <cstring>
#endif

#if defined(__SANITIZE_THREAD__)  // GCC's way to say it; clang's:
#define HEDDLE_UNDER_THREAD_SANITIZER 1
#elif defined(__has_feature)
#define HEDDLE_UNDER_THREAD_SANITIZER __has_feature(thread_sanitizer)
#else
#define HEDDLE_UNDER_THREAD_SANITIZER 0
#endif

namespace heddle {

#if defined(__CUDACC__)
namespace standard = cuda::std;
#else
namespace standard = std;
#endif

using standard::int32_t;
using standard::int64_t;
using standard::uint16_t;
using standard::uint32_t;
using standard::uint64_t;
using standard::uint8_t;
using standard::uintptr_t;
using size_t = standard::size_t;
/// Heap memory without a type.
using byte = unsigned char;

/// The unit in which memory moves between caches, and the padding between words of different
/// writers.
inline constexpr size_t cache_line = 64;

}  // namespace heddle
