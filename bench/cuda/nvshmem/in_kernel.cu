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

class contender {
 public:
  explicit contender(nvshmem_pe& pe) : pe_(pe), input_(elements), output_(elements) {}

  [[nodiscard]] int my_pe() const { return pe_.my_pe(); }
  [[nodiscard]] int n_pes() const { return pe_.n_pes(); }
  void write_input(const std::vector<float>& values) { pe_.write(input_.data(), values); }
  void clear_output(std::size_t count) {
    pe_.write(output_.data(), std::vector<float>(count));
    pe_.agree(0);
  }
  [[nodiscard]] std::vector<float> read_output(std::size_t count) const {
    return pe_.read(output_.data(), count);
  }
  void launch(gpu_collective what, std::size_t count, std::uint64_t n) {
    using enum gpu_collective;
    switch (what) {
      case all_reduce:
        return launch<all_reduce>(count, n);
      case broadcast:
        return launch<broadcast>(count, n);
      case all_gather:
        return launch<all_gather>(count, n);
      case reduce_scatter:
        return launch<reduce_scatter>(count, n);
      default:
        return launch<all_to_all>(count, n);
    }
  }
  double time_launches(gpu_collective what, std::size_t count) {
    return pe_.time([&](std::uint64_t n) { launch(what, count, n); });
  }
  void report(gpu_collective what, std::size_t bytes, double us) {
    pe_.report(bench::in_kernel_name(what), "block", bytes, us);
  }

 private:
  static constexpr std::size_t elements = bench::in_kernel_max_bytes / sizeof(float);

  template <gpu_collective What>
  void launch(std::size_t count, std::uint64_t n) {
    calls<What>
        <<<1, bench::in_kernel_threads, 0, pe_.stream()>>>(input_.data(), output_.data(), count, n);
    bench::check(cudaGetLastError(), "launching a kernel of collectives");
  }

  nvshmem_pe& pe_;
  bench::nvshmem_array<float> input_;
  bench::nvshmem_array<float> output_;
};

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program("gpu_nvshmem_in_kernel", [&] {
    const auto options = bench::gpu_options::parse(argc, argv);
    bench::run_nvshmem_pes(options, [&](nvshmem_pe& pe) {
      contender mine(pe);
      bench::measure_in_kernel(mine, options);
    });
  });
}
