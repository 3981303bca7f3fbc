// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// How long NVSHMEM's barrier takes that kernels of all PEs meet in.
#include "forked_pes.hpp"
#include "groups.cuh"

namespace {

using bench::nvshmem_pe;

template <class By>
__global__ void barriers(std::uint64_t n) {
  if (!bench::in_first_group<By>()) return;
  for (std::uint64_t i = 0; i < n; ++i) By::barrier();
}

template <class By>
void measure(nvshmem_pe& pe) {
  const double us =
      pe.time([&](std::uint64_t n) { barriers<By><<<1, By::threads, 0, pe.stream()>>>(n); });
  pe.report("barrier", By::name, 0, us);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program("gpu_nvshmem_barrier", [&] {
    const auto options = bench::gpu_options::parse(argc, argv);
    bench::run_nvshmem_pes(options, [](nvshmem_pe& pe) {
      measure<bench::nvshmem_thread>(pe);
      measure<bench::nvshmem_warp>(pe);
      measure<bench::nvshmem_block>(pe);
    });
  });
}
