// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/thread_group.hpp>

#if defined(__CUDACC__)

namespace heddle {

/// The calling warp, which is converged (all 32 threads make the call).
class cuda_warp {
 public:
  HEDDLE_FN static constexpr int size() { return 32; }
  HEDDLE_FN int rank() const {
#if HEDDLE_ON_CUDA
    unsigned lane;
    asm("mov.u32 %0, %laneid;" : "=r"(lane));
    return static_cast<int>(lane);
#else
    return 0;
#endif
  }
  HEDDLE_FN void sync() const {
#if HEDDLE_ON_CUDA
    __syncwarp();
#endif
  }
  template <class T>
  HEDDLE_FN T broadcast(T value) const {
    static_assert(sizeof(T) <= 8 && standard::is_trivially_copyable_v<T>);
#if HEDDLE_ON_CUDA
    uint64_t word = 0;
    memcpy(&word, &value, sizeof(T));
    word = __shfl_sync(0xffffffffu, word, 0);
    __syncwarp();  // passes on what lane 0 has seen, which a shuffle alone does not
    memcpy(&value, &word, sizeof(T));
#endif
    return value;
  }
  HEDDLE_FN bool all(bool condition) const {
#if HEDDLE_ON_CUDA
    const bool result = __all_sync(0xffffffffu, condition) != 0;
    __syncwarp();  // as broadcast
    return result;
#else
    return condition;
#endif
  }
};

/// The calling thread block (one-dimensional, in a one-dimensional grid). warp() is for blocks of
/// whole warps.
class cuda_block {
 public:
  HEDDLE_FN int size() const {
#if HEDDLE_ON_CUDA
    return static_cast<int>(blockDim.x);
#else
    return 1;
#endif
  }
  HEDDLE_FN int rank() const {
#if HEDDLE_ON_CUDA
    return static_cast<int>(threadIdx.x);
#else
    return 0;
#endif
  }
  HEDDLE_FN void sync() const {
#if HEDDLE_ON_CUDA
    __syncthreads();
#endif
  }
  template <class T>
  HEDDLE_FN T broadcast(T value) const {
    static_assert(sizeof(T) <= 8 && standard::is_trivially_copyable_v<T>);
#if HEDDLE_ON_CUDA
    __shared__ uint64_t word;
    if (threadIdx.x == 0) memcpy(&word, &value, sizeof(T));
    __syncthreads();
    memcpy(&value, &word, sizeof(T));
    __syncthreads();
#endif
    return value;
  }
  HEDDLE_FN bool all(bool condition) const {
#if HEDDLE_ON_CUDA
    return __syncthreads_and(condition) != 0;
#else
    return condition;
#endif
  }

  HEDDLE_FN int block_rank() const {
#if HEDDLE_ON_CUDA
    return static_cast<int>(blockIdx.x);
#else
    return 0;
#endif
  }
  HEDDLE_FN int num_blocks() const {
#if HEDDLE_ON_CUDA
    return static_cast<int>(gridDim.x);
#else
    return 1;
#endif
  }
  HEDDLE_FN thread_group thread() const { return {}; }
  HEDDLE_FN cuda_warp warp() const { return {}; }
};

}  // namespace heddle

#endif
