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

class contender {
 public:
  explicit contender(gpu_pe& pe)
      : pe_(pe), input_(pe.runtime(), elements), output_(pe.runtime(), elements) {}

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
    const int threads = bench::on_gpu() ? bench::in_kernel_threads : 2;
    heddle::launch_collective(pe_.world(), pe_.stream(), 1, threads, calls<What>{},
                              pe_.world().ref(), input_.data(), output_.data(), count, n);
  }

  gpu_pe& pe_;
  heddle::symmetric_array<float> input_;
  heddle::symmetric_array<float> output_;
};

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program("gpu_heddle_in_kernel", [&] {
    const auto options = bench::gpu_options::parse(argc, argv);
    bench::run_gpu_pes(options, [&](gpu_pe& pe) {
      contender mine(pe);
      bench::measure_in_kernel(mine, options);
    });
  });
}
