// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nvshmem.h>
#include <nvshmemx.h>

#include <cstddef>
#include <cstdint>

/// NVSHMEM's calls by a thread, a warp and a block, as template arguments of kernels.
namespace bench {

using std::size_t;
using std::uint64_t;

struct nvshmem_thread {
  static constexpr const char* name = "thread";
  static constexpr size_t most_bytes = 4096;  ///< of one call that is worth timing
  static constexpr int threads = 32;
  __device__ static int size() { return 1; }
  __device__ static int rank() { return 0; }
  __device__ static void sync() {}
  __device__ static void put(uint64_t* to, const uint64_t* from, size_t n, int pe) {
    nvshmem_uint64_put(to, from, n, pe);
  }
  __device__ static void get(uint64_t* to, const uint64_t* from, size_t n, int pe) {
    nvshmem_uint64_get(to, from, n, pe);
  }
  __device__ static void put_signal(uint64_t* to, const uint64_t* from, size_t n, uint64_t* signal,
                                    uint64_t value, int pe) {
    nvshmem_uint64_put_signal(to, from, n, signal, value, NVSHMEM_SIGNAL_SET, pe);
  }
  __device__ static void barrier() { nvshmem_barrier_all(); }
};

struct nvshmem_warp {
  static constexpr const char* name = "warp";
  static constexpr size_t most_bytes = 32'768;
  static constexpr int threads = 32;
  __device__ static int size() { return 32; }
  __device__ static int rank() { return static_cast<int>(threadIdx.x % 32); }
  __device__ static void sync() { __syncwarp(); }
  __device__ static void put(uint64_t* to, const uint64_t* from, size_t n, int pe) {
    nvshmemx_uint64_put_warp(to, from, n, pe);
  }
  __device__ static void get(uint64_t* to, const uint64_t* from, size_t n, int pe) {
    nvshmemx_uint64_get_warp(to, from, n, pe);
  }
  __device__ static void put_signal(uint64_t* to, const uint64_t* from, size_t n, uint64_t* signal,
                                    uint64_t value, int pe) {
    nvshmemx_uint64_put_signal_warp(to, from, n, signal, value, NVSHMEM_SIGNAL_SET, pe);
  }
  __device__ static void barrier() { nvshmemx_barrier_all_warp(); }
};

struct nvshmem_block {
  static constexpr const char* name = "block";
  static constexpr size_t most_bytes = 262'144;
  static constexpr int threads = 256;
  __device__ static int size() { return static_cast<int>(blockDim.x); }
  __device__ static int rank() { return static_cast<int>(threadIdx.x); }
  __device__ static void sync() { __syncthreads(); }
  __device__ static void put(uint64_t* to, const uint64_t* from, size_t n, int pe) {
    nvshmemx_uint64_put_block(to, from, n, pe);
  }
  __device__ static void get(uint64_t* to, const uint64_t* from, size_t n, int pe) {
    nvshmemx_uint64_get_block(to, from, n, pe);
  }
  __device__ static void put_signal(uint64_t* to, const uint64_t* from, size_t n, uint64_t* signal,
                                    uint64_t value, int pe) {
    nvshmemx_uint64_put_signal_block(to, from, n, signal, value, NVSHMEM_SIGNAL_SET, pe);
  }
  __device__ static void barrier() { nvshmemx_barrier_all_block(); }
};

/// Whether this thread is in the first of the groups, which is the one of a latency.
template <class By>
__device__ bool in_first_group() {
  return static_cast<int>(threadIdx.x) < By::size();
}

}  // namespace bench
