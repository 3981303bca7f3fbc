// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// Gloo's allreduce, as all_reduce_sweep.hpp asks.
#include "../all_reduce_sweep.hpp"
#include "../page_memory.hpp"
#include "gloo_job.hpp"

namespace {

class gloo_contender {
 public:
  explicit gloo_contender(std::size_t capacity)
      : capacity_(capacity),
        input_(bench::page_memory<float>(capacity)),
        output_(bench::page_memory<float>(capacity)) {}

  [[nodiscard]] int my_pe() const { return job_.my_pe(); }
  [[nodiscard]] int n_pes() const { return job_.n_pes(); }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] float* input() const { return input_.get(); }
  [[nodiscard]] float* output() const { return output_.get(); }
  void all_reduce(const float* input, float* output, std::size_t count) const {
    job_.all_reduce(input, output, count, &gloo::sum<float>);
  }
  void finish() const { job_.finish(); }

 private:
  bench::gloo_job job_;
  std::size_t capacity_;
  bench::page_pointer<float> input_;
  bench::page_pointer<float> output_;
};

}  // namespace

int main(int argc, char** argv) {
  const auto options = bench::options::parse(argc, argv, "Gloo's allreduce");
  return bench::run_program("gloo_all_reduce", [&] {
    const gloo_contender contender(options.max_bytes / sizeof(float) + bench::control_elements);
    bench::report_binding(contender.my_pe());
    bench::sweep_all_reduce(contender, "gloo", options);
    contender.finish();
  });
}
