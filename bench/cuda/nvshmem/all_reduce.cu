// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// NVSHMEM's sum over all PEs from the host, on a stream.
#include "../all_reduce_points.hpp"
#include "forked_pes.hpp"

namespace {

using bench::nvshmem_pe;

class contender {
 public:
  explicit contender(nvshmem_pe& pe) : pe_(pe), input_(elements), output_(elements) {}

  [[nodiscard]] int my_pe() const { return pe_.my_pe(); }
  [[nodiscard]] int n_pes() const { return pe_.n_pes(); }
  double agree(double x) { return pe_.agree(x); }
  void write_input(const std::vector<float>& values) { pe_.write(input_.data(), values); }
  void clear_output(std::size_t count) { pe_.write(output_.data(), std::vector<float>(count)); }
  [[nodiscard]] std::vector<float> read_output(std::size_t count) const {
    return pe_.read(output_.data(), count);
  }
  void all_reduce(std::size_t count) {
    if (nvshmemx_float_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, output_.data(), input_.data(),
                                            count, pe_.stream()) != 0)
      throw std::runtime_error("nvshmemx_float_sum_reduce_on_stream failed");
  }
  void synchronize() const { pe_.synchronize(); }
  [[nodiscard]] cudaStream_t cuda_stream() const { return pe_.stream(); }

 private:
  static constexpr std::size_t elements = bench::all_reduce_max_bytes / sizeof(float);

  nvshmem_pe& pe_;
  bench::nvshmem_array<float> input_;
  bench::nvshmem_array<float> output_;
};

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program("gpu_nvshmem_all_reduce", [&] {
    const auto options = bench::gpu_options::parse(argc, argv);
    bench::run_nvshmem_pes(options, [&](nvshmem_pe& pe) {
      contender mine(pe);
      bench::measure_all_reduces(mine, "NVSHMEM", options);
    });
  });
}
