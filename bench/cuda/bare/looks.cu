// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// What waiting and releasing are made of, by one thread of each of so many blocks: looks at a word
// of the GPU's memory and of the host's, and fences behind a store.
#include <cuda/atomic>

#include "../cuda_calls.hpp"
#include "../options.hpp"

namespace {

using std::size_t;
using std::uint64_t;

/// Blocks that do the same at the same time.
constexpr int block_counts[] = {1, 8, 32, 128};

__global__ void look(uint64_t* word, uint64_t* seen, uint64_t n) {
  const cuda::atomic_ref<uint64_t, cuda::thread_scope_system> shared(*word);
  uint64_t sum = 0;
  for (uint64_t i = 0; i < n; ++i) sum += shared.load(cuda::std::memory_order_acquire);
  seen[blockIdx.x] = sum;
}

/// Each block stores to a line of its own.
template <cuda::thread_scope Scope>
__global__ void store_and_fence(uint64_t* words, uint64_t n) {
  const cuda::atomic_ref<uint64_t, cuda::thread_scope_system> own(words[size_t{blockIdx.x} * 32]);
  for (uint64_t i = 1; i <= n; ++i) {
    own.store(i, cuda::std::memory_order_relaxed);
    cuda::atomic_thread_fence(cuda::std::memory_order_acq_rel, Scope);
  }
}

/// A word of the host's that GPUs reach.
class host_word {
 public:
  host_word() {
    bench::check(cudaHostAlloc(&word_, sizeof(uint64_t), cudaHostAllocMapped), "cudaHostAlloc");
    *static_cast<uint64_t*>(word_) = 0;
  }
  ~host_word() { cudaFreeHost(word_); }
  host_word(const host_word&) = delete;
  host_word& operator=(const host_word&) = delete;

  [[nodiscard]] uint64_t* on_gpu() const {
    void* there = nullptr;
    bench::check(cudaHostGetDevicePointer(&there, word_, 0), "cudaHostGetDevicePointer");
    return static_cast<uint64_t*>(there);
  }

 private:
  void* word_ = nullptr;
};

class look_times {
 public:
  explicit look_times(const bench::gpu_options& options) : options_(options) {}

  void measure_all() {
    const bench::gpu_memory<uint64_t> words(size_t{128} * 32);
    const bench::gpu_memory<uint64_t> seen(128);
    const host_word host;
    for (const int blocks : block_counts) {
      measure("look", "the GPU's memory", blocks, [&](cudaStream_t on, uint64_t n) {
        look<<<blocks, 1, 0, on>>>(words.data(), seen.data(), n);
      });
      measure("look", "host memory", blocks, [&](cudaStream_t on, uint64_t n) {
        look<<<blocks, 1, 0, on>>>(host.on_gpu(), seen.data(), n);
      });
      measure("store and fence", "device", blocks, [&](cudaStream_t on, uint64_t n) {
        store_and_fence<cuda::thread_scope_device><<<blocks, 1, 0, on>>>(words.data(), n);
      });
      measure("store and fence", "system", blocks, [&](cudaStream_t on, uint64_t n) {
        store_and_fence<cuda::thread_scope_system><<<blocks, 1, 0, on>>>(words.data(), n);
      });
    }
  }

 private:
  template <class Launch>
  void measure(const char* what, const char* where, int blocks, const Launch& launch) {
    const double us = bench::time_per_iteration(
        [&](uint64_t n) {
          launch(stream_.get(), n);
          bench::check(cudaGetLastError(), what);
          stream_.synchronize();
        },
        [](double x) { return x; }, options_.measure);
    bench::report(
        what,
        std::string(where) + ", " + std::to_string(blocks) + (blocks == 1 ? " block" : " blocks"),
        sizeof(uint64_t), us);
  }

  const bench::gpu_options& options_;
  const bench::gpu_stream stream_;
};

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program("gpu_bare_looks", [&] {
    const auto options = bench::gpu_options::parse(argc, argv);
    look_times(options).measure_all();
  });
}
