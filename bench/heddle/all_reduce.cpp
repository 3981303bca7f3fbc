// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// heddle's AllReduce, the blocking call from the host, on symmetric buffers.
#include <heddle/heddle.hpp>

#include "../all_reduce_sweep.hpp"

namespace {

class heddle_contender {
 public:
  explicit heddle_contender(std::size_t capacity)
      : world_(runtime_.world()),
        input_(runtime_.malloc<float>(capacity)),
        output_(runtime_.malloc<float>(capacity)),
        capacity_(capacity) {}

  [[nodiscard]] int my_pe() const { return world_.my_pe(); }
  [[nodiscard]] int n_pes() const { return world_.n_pes(); }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] float* input() const { return input_; }
  [[nodiscard]] float* output() const { return output_; }
  void all_reduce(const float* input, float* output, std::size_t count) {
    world_.all_reduce(input, output, count, heddle::op::sum);
  }

 private:
  heddle::runtime runtime_;  // releases the buffers when it ends
  heddle::team world_;
  float* input_;
  float* output_;
  std::size_t capacity_;
};

}  // namespace

int main(int argc, char** argv) {
  const auto options = bench::options::parse(argc, argv, "heddle's AllReduce");
  return bench::run_program("all_reduce", [&] {
    heddle_contender contender(options.max_bytes / sizeof(float) + bench::control_elements);
    bench::report_binding(contender.my_pe());
    bench::sweep_all_reduce(contender, "heddle", options);
  });
}
