// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// heddle's collectives from a kernel, by a block, on symmetric buffers.
#include <heddle/device/collectives.hpp>
#include <heddle/symmetric_array.hpp>

#include "../in_kernel_points.hpp"
#include "gpu_pe.hpp"

namespace {

using bench::gpu_collective;
using bench::gpu_pe;
using heddle::team_ref;

template <gpu_collective What>
struct calls {
  template <heddle::block_group Block>
  HEDDLE_FN void operator()(Block block, team_ref team, const float* input, float* output,
                            heddle::size_t count, heddle::uint64_t n) const {
    for (heddle::uint64_t i = 0; i < n; ++i) one(block, team, input, output, count);
  }

 private:
  template <heddle::block_group Block>
  HEDDLE_FN static void one(Block block, const team_ref& team, const float* input, float* output,
                            heddle::size_t count) {
    using enum gpu_collective;
    if constexpr (What == all_reduce)
      heddle::all_reduce(block, team, input, output, count);
    else if constexpr (What == broadcast)
      heddle::broadcast(block, team, input, output, count, bench::collective_root);
    else if constexpr (What == all_gather)
      heddle::all_gather(block, team, input, output, count);
    else if constexpr (What == reduce_scatter)
      heddle::reduce_scatter(block, team, input, output, count);
    else
      heddle::all_to_all(block, team, input, output, count);
  }
};

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program("gpu_heddle_in_kernel", [&] {
    const auto options = bench::gpu_options::parse(argc, argv);
    bench::run_gpu_pes(options, [](gpu_pe& pe) {
      const heddle::symmetric_array<float> input(pe.runtime(), bench::in_kernel_elements);
      const heddle::symmetric_array<float> output(pe.runtime(), bench::in_kernel_elements);
      const int threads = bench::on_gpu() ? bench::in_kernel_threads : 2;
      bench::measure_in_kernel(
          pe, input.data(), output.data(), [&](auto what, std::size_t count, std::uint64_t n) {
            heddle::launch_collective(pe.world(), pe.stream(), 1, threads, calls<what()>{},
                                      pe.world().ref(), input.data(), output.data(), count, n);
          });
    });
  });
}
