// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// How fast a grid moves an array between two PEs of NVSHMEM: as heddle/bandwidth.cu.
#include "../partition.cuh"
#include "forked_pes.hpp"
#include "groups.cuh"

namespace {

using bench::nvshmem_pe;
using std::uint64_t;

template <class By>
__device__ bench::array_part my_part(std::size_t words) {
  const auto size = static_cast<unsigned>(By::size());
  const std::size_t groups = blockDim.x / size;
  return bench::array_part::of(words, blockIdx.x * groups + threadIdx.x / size, gridDim.x * groups);
}

/// n times the whole array.
template <class By>
__global__ void put_parts(uint64_t* to, const uint64_t* from, std::size_t words, uint64_t n) {
  const auto part = my_part<By>(words);
  for (uint64_t i = 0; i < n; ++i) By::put(to + part.begin, from + part.begin, part.count, 1);
  nvshmem_quiet();
}

template <class By>
__global__ void get_parts(uint64_t* to, const uint64_t* from, std::size_t words, uint64_t n) {
  const auto part = my_part<By>(words);
  for (uint64_t i = 0; i < n; ++i) By::get(to + part.begin, from + part.begin, part.count, 1);
}

using move_kernel = void (*)(uint64_t*, const uint64_t*, std::size_t, uint64_t);

class bandwidths {
 public:
  explicit bandwidths(nvshmem_pe& pe)
      : pe_(pe),
        target_(pe.options().max_bytes / sizeof(uint64_t)),
        source_(pe.options().max_bytes / sizeof(uint64_t)) {
    std::vector<uint64_t> content(pe.options().max_bytes / sizeof(uint64_t));
    for (std::size_t i = 0; i < content.size(); ++i) content[i] = held_by(pe.my_pe(), i);
    pe_.write(source_.data(), content);
    pe_.agree(0);
  }

  template <class By>
  void measure() {
    for (const int blocks : bench::bandwidth_blocks) {
      measure("put", By::name, blocks, put_parts<By>, 1);
      measure("get", By::name, blocks, get_parts<By>, 0);
    }
  }

 private:
  /// What word i of a PE's source is.
  static uint64_t held_by(int pe, std::size_t i) {
    return bench::pattern(i) + static_cast<uint64_t>(pe);
  }

  void measure(const char* operation, const char* variant, int blocks, move_kernel kernel,
               int receiver) {
    const auto what = bench::blocks_name(operation, blocks);
    for (const std::size_t bytes : pe_.options().up_to_max(bench::bandwidth_sizes(blocks))) {
      const std::size_t words = bytes / sizeof(uint64_t);
      const auto run = [&](uint64_t n) {
        if (pe_.my_pe() == 0)
          kernel<<<blocks, bench::bandwidth_threads, 0, pe_.stream()>>>(target_.data(),
                                                                        source_.data(), words, n);
      };
      if (bytes <= bench::verified_bytes) verify(what, words, receiver, run);
      const double us = pe_.time(run);
      pe_.report(what, variant, bytes, us);
    }
  }

  template <class Run>
  void verify(const std::string& what, std::size_t words, int receiver, Run run) {
    pe_.write(target_.data(), std::vector<uint64_t>(words));
    pe_.agree(0);
    run(1);
    bench::check(cudaGetLastError(), "launching a kernel");
    pe_.synchronize();
    pe_.agree(0);
    if (pe_.my_pe() != receiver) return;
    const auto moved = pe_.read(target_.data(), words);
    for (std::size_t i = 0; i < words; ++i)
      if (moved[i] != held_by(1 - receiver, i))
        throw std::runtime_error(what + ": word " + std::to_string(i) + " did not arrive");
  }

  nvshmem_pe& pe_;
  bench::nvshmem_array<uint64_t> target_;
  bench::nvshmem_array<uint64_t> source_;
};

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program("gpu_nvshmem_bandwidth", [&] {
    const auto options = bench::gpu_options::parse(argc, argv);
    if (options.pes != 2) throw std::invalid_argument("bandwidths are between 2 PEs");
    bench::run_nvshmem_pes(options, [](nvshmem_pe& pe) {
      bandwidths all(pe);
      all.measure<bench::nvshmem_thread>();
      all.measure<bench::nvshmem_warp>();
      all.measure<bench::nvshmem_block>();
    });
  });
}
