// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// heddle's collectives from the host, on symmetric buffers.
#include <heddle/symmetric_array.hpp>

#include <optional>

#include "../collective_points.hpp"
#include "gpu_pe.hpp"

namespace {

using bench::gpu_pe;

class contender {
 public:
  explicit contender(gpu_pe& pe)
      : pe_(pe),
        input_(pe.runtime(), bench::collective_max_bytes / sizeof(float)),
        output_(pe.runtime(), bench::collective_max_bytes / sizeof(float)) {
    if (pe.options().graph) {
      captured_.emplace();
      as_heddle_.emplace(pe.runtime().stream_from_cuda(captured_->get()));
    }
  }

  [[nodiscard]] int my_pe() const { return pe_.my_pe(); }
  [[nodiscard]] int n_pes() const { return pe_.n_pes(); }
  double agree(double x) { return pe_.agree(x); }
  void write_input(const std::vector<float>& values) { pe_.write(input_.data(), values); }
  void clear_output(std::size_t count) { pe_.write(output_.data(), std::vector<float>(count)); }
  [[nodiscard]] std::vector<float> read_output(std::size_t count) const {
    return pe_.read(output_.data(), count);
  }
  void enqueue(bench::gpu_collective what, std::size_t count) {
    using enum bench::gpu_collective;
    using bench::collective_root;
    constexpr auto sum = heddle::op::sum;
    const heddle::team& world = pe_.world();
    const float* input = input_.data();
    float* output = output_.data();
    switch (what) {
      case all_reduce:
        return world.all_reduce(input, output, count, sum, stream());
      case broadcast:
        return world.broadcast(input, output, count, collective_root, stream());
      case reduce:
        return world.reduce(input, output, count, sum, collective_root, stream());
      case all_gather:
        return world.all_gather(input, output, count, stream());
      case reduce_scatter:
        return world.reduce_scatter(input, output, count, sum, stream());
      case all_to_all:
        return world.all_to_all(input, output, count, stream());
    }
  }
  void synchronize() const { stream().synchronize(); }
  [[nodiscard]] cudaStream_t cuda_stream() const { return captured_->get(); }

 private:
  [[nodiscard]] const heddle::stream& stream() const {
    return as_heddle_ ? *as_heddle_ : pe_.stream();
  }

  gpu_pe& pe_;
  heddle::symmetric_array<float> input_;
  heddle::symmetric_array<float> output_;
  std::optional<bench::gpu_stream> captured_;
  std::optional<heddle::stream> as_heddle_;
};

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program("gpu_heddle_collectives", [&] {
    const auto options = bench::gpu_options::parse(argc, argv);
    bench::run_gpu_pes(options, [&](gpu_pe& pe) {
      contender mine(pe);
      bench::measure_collectives(mine, "heddle", options);
    });
  });
}
