// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// NVSHMEM's collectives from the host, on a stream.
#include "../collective_points.hpp"
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
  void enqueue(bench::gpu_collective what, std::size_t count) {
    if (call(what, output_.data(), input_.data(), count) != 0)
      throw std::runtime_error(std::string(bench::name_of(what)) + " on a stream failed");
  }
  void synchronize() const { pe_.synchronize(); }
  [[nodiscard]] cudaStream_t cuda_stream() const { return pe_.stream(); }

 private:
  [[nodiscard]] int call(bench::gpu_collective what, float* output, const float* input,
                         std::size_t count) {
    using enum bench::gpu_collective;
    constexpr auto world = NVSHMEM_TEAM_WORLD;
    const cudaStream_t stream = pe_.stream();
    switch (what) {
      case all_reduce:
        return nvshmemx_float_sum_reduce_on_stream(world, output, input, count, stream);
      case broadcast:
        return nvshmemx_float_broadcast_on_stream(world, output, input, count,
                                                  bench::collective_root, stream);
      case all_gather:
        return nvshmemx_float_fcollect_on_stream(world, output, input, count, stream);
      case reduce_scatter:
        return nvshmemx_float_sum_reducescatter_on_stream(world, output, input, count, stream);
      case all_to_all:
        return nvshmemx_float_alltoall_on_stream(world, output, input, count, stream);
      case reduce:
        break;
    }
    throw std::runtime_error(std::string("NVSHMEM has no ") + bench::name_of(what));
  }

  static constexpr std::size_t elements = bench::collective_max_bytes / sizeof(float);

  nvshmem_pe& pe_;
  bench::nvshmem_array<float> input_;
  bench::nvshmem_array<float> output_;
};

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program("gpu_nvshmem_collectives", [&] {
    const auto options = bench::gpu_options::parse(argc, argv);
    bench::run_nvshmem_pes(options, [&](nvshmem_pe& pe) {
      contender mine(pe);
      bench::measure_collectives(mine, "NVSHMEM", options);
    });
  });
}
