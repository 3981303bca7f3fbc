// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../cuda_calls.hpp"
#include "../options.hpp"
#include "../partition.cuh"

/// Kernels that copy inside the GPU's memory, and what times them.
namespace bench {

using std::size_t;
using unit = uint4;  // 16 bytes, moved by one load and one store
constexpr size_t words_per_unit = sizeof(unit) / 8;

/// Units first, first + step, ... below end: `Unroll` loads, then their stores.
template <int Unroll>
__device__ void copy_units(unit* to, const unit* from, size_t first, size_t end, size_t step) {
  size_t i = first;
  for (; i + (Unroll - 1) * step < end; i += Unroll * step) {
    unit loaded[Unroll];
#pragma unroll
    for (int u = 0; u < Unroll; ++u) loaded[u] = from[i + u * step];
#pragma unroll
    for (int u = 0; u < Unroll; ++u) to[i + u * step] = loaded[u];
  }
  for (; i < end; i += step) to[i] = from[i];
}

/// n times; each block its part, as the puts do it.
template <int Unroll>
__global__ void __launch_bounds__(bandwidth_threads)
    copy_in_parts(unit* to, const unit* from, size_t words, std::uint64_t n) {
  const auto part = array_part::of(words, blockIdx.x, gridDim.x);
  const size_t begin = part.begin / words_per_unit;
  const size_t end = (part.begin + part.count) / words_per_unit;
  for (std::uint64_t i = 0; i < n; ++i) {
    copy_units<Unroll>(to, from, begin + threadIdx.x, end, blockDim.x);
    __syncthreads();
  }
}

/// n times; the blocks take turns.
template <int Unroll>
__global__ void __launch_bounds__(bandwidth_threads)
    copy_in_turns(unit* to, const unit* from, size_t words, std::uint64_t n) {
  const size_t step = size_t{blockDim.x} * gridDim.x;
  for (std::uint64_t i = 0; i < n; ++i) {
    copy_units<Unroll>(to, from, size_t{blockIdx.x} * blockDim.x + threadIdx.x,
                       words / words_per_unit, step);
    __syncthreads();
  }
}

using copy_kernel = void (*)(unit*, const unit*, size_t, std::uint64_t);
struct variant {
  const char* name;
  copy_kernel kernel;
};
constexpr variant variants[] = {{"in parts, 4 loads", copy_in_parts<4>},
                                {"in parts, 8 loads", copy_in_parts<8>},
                                {"in turns, 4 loads", copy_in_turns<4>},
                                {"in turns, 8 loads", copy_in_turns<8>}};

class copies {
 public:
  explicit copies(const gpu_options& options)
      : options_(options),
        target_(options.max_bytes / sizeof(unit)),
        source_(options.max_bytes / sizeof(unit)) {
    std::vector<size_t> content(options.max_bytes / 8);
    for (size_t i = 0; i < content.size(); ++i) content[i] = pattern(i);
    check(cudaMemcpy(source_.data(), content.data(), options.max_bytes, cudaMemcpyHostToDevice),
          "cudaMemcpy");
  }

  void measure(const std::string& what, int blocks, const std::vector<size_t>& sizes) {
    for (const auto& [name, kernel] : variants)
      for (const size_t bytes : options_.up_to_max(sizes))
        time(what, name, bytes, [&](std::uint64_t n) {
          kernel<<<blocks, bandwidth_threads, 0, stream_.get()>>>(target_.data(), source_.data(),
                                                                  bytes / 8, n);
          check(cudaGetLastError(), "launching a copy");
        });
  }

  void measure_memcpy(const std::string& what, const std::vector<size_t>& sizes) {
    for (const size_t bytes : options_.up_to_max(sizes))
      time(what, "cudaMemcpyAsync", bytes, [&](std::uint64_t n) {
        for (std::uint64_t i = 0; i < n; ++i)
          check(cudaMemcpyAsync(target_.data(), source_.data(), bytes, cudaMemcpyDeviceToDevice,
                                stream_.get()),
                "cudaMemcpyAsync");
      });
  }

 private:
  template <class Enqueue>
  void time(const std::string& what, const char* name, size_t bytes, Enqueue enqueue) {
    const auto run = [&](std::uint64_t n) {
      enqueue(n);
      stream_.synchronize();
    };
    check(cudaMemset(target_.data(), 0, bytes), "cudaMemset");
    check(cudaDeviceSynchronize(), "cudaMemset");
    run(1);
    std::vector<size_t> copied(bytes / 8);
    check(cudaMemcpy(copied.data(), target_.data(), bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
    for (size_t i = 0; i < copied.size(); ++i)
      if (copied[i] != pattern(i))
        throw std::runtime_error(what + ", " + name + ": word " + std::to_string(i) + " of " +
                                 std::to_string(copied.size()) + " was not copied");
    report(what, name, bytes,
           time_per_iteration(
               run, [](double x) { return x; }, options_.measure));
  }

  const gpu_options& options_;
  gpu_memory<unit> target_;
  gpu_memory<unit> source_;
  gpu_stream stream_;
};

}  // namespace bench
