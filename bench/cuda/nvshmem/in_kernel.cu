// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// NVSHMEM's collectives from a kernel, by a block.
#include "../in_kernel_points.hpp"
#include "forked_pes.hpp"

namespace {

using bench::gpu_collective;
using bench::nvshmem_pe;

template <gpu_collective What>
__global__ void calls(const float* input, float* output, std::size_t count, std::uint64_t n) {
  using enum gpu_collective;
  constexpr auto world = NVSHMEM_TEAM_WORLD;
  for (std::uint64_t i = 0; i < n; ++i) {
    if constexpr (What == all_reduce)
      nvshmemx_float_sum_reduce_block(world, output, input, count);
    else if constexpr (What == broadcast)
      nvshmemx_float_broadcast_block(world, output, input, count, bench::collective_root);
    else if constexpr (What == all_gather)
      nvshmemx_float_fcollect_block(world, output, input, count);
    else if constexpr (What == reduce_scatter)
      nvshmemx_float_sum_reducescatter_block(world, output, input, count);
    else
      nvshmemx_float_alltoall_block(world, output, input, count);
  }
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program("gpu_nvshmem_in_kernel", [&] {
    const auto options = bench::gpu_options::parse(argc, argv);
    bench::run_nvshmem_pes(options, [](nvshmem_pe& pe) {
      const bench::nvshmem_array<float> input(bench::in_kernel_elements);
      const bench::nvshmem_array<float> output(bench::in_kernel_elements);
      bench::measure_in_kernel(
          pe, input.data(), output.data(), [&](auto what, std::size_t count, std::uint64_t n) {
            calls<what()><<<1, bench::in_kernel_threads, 0, pe.stream()>>>(input.data(),
                                                                           output.data(), count, n);
            bench::check(cudaGetLastError(), "launching a kernel of collectives");
          });
    });
  });
}
