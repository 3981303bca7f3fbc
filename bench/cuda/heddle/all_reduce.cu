// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// heddle's AllReduce from the host, on symmetric buffers.
#include <heddle/symmetric_array.hpp>

#include <optional>

#include "../all_reduce_points.hpp"
#include "gpu_pe.hpp"

namespace {

using bench::gpu_pe;

class contender {
 public:
  explicit contender(gpu_pe& pe)
      : pe_(pe),
        input_(pe.runtime(), bench::all_reduce_max_bytes / sizeof(float)),
        output_(pe.runtime(), bench::all_reduce_max_bytes / sizeof(float)) {
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
  void all_reduce(std::size_t count) {
    pe_.world().all_reduce(input_.data(), output_.data(), count, heddle::op::sum, stream());
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
  return bench::run_program("gpu_heddle_all_reduce", [&] {
    const auto options = bench::gpu_options::parse(argc, argv);
    bench::run_gpu_pes(options, [&](gpu_pe& pe) {
      contender mine(pe);
      bench::measure_all_reduces(mine, "heddle", options);
    });
  });
}
