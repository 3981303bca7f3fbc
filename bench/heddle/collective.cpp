// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// heddle's collectives beside AllReduce, the blocking calls from the host, on symmetric
// buffers.
#include <heddle/heddle.hpp>

#include "../collective_sweep.hpp"

namespace {

class heddle_contender {
 public:
  explicit heddle_contender(std::size_t capacity)
      : world_(runtime_.world()),
        input_(runtime_.calloc<unsigned char>(capacity)),
        output_(runtime_.calloc<unsigned char>(capacity)) {}

  [[nodiscard]] int my_pe() const { return world_.my_pe(); }
  [[nodiscard]] int n_pes() const { return world_.n_pes(); }
  [[nodiscard]] unsigned char* input() const { return input_; }
  [[nodiscard]] unsigned char* output() const { return output_; }
  double largest(double x) {
    double result = 0;
    world_.all_reduce(&x, &result, 1, heddle::op::max);
    return result;
  }
  void broadcast(std::size_t piece) { world_.broadcast(output_, output_, piece, 0); }
  void all_gather(std::size_t piece) { world_.all_gather(input_, output_, piece); }
  void all_to_all(std::size_t piece) { world_.all_to_all(input_, output_, piece); }
  void gather(std::size_t piece) { world_.gather(input_, output_, piece, 0); }
  void scatter(std::size_t piece) { world_.scatter(input_, output_, piece, 0); }
  void reduce_scatter(std::size_t piece) {
    world_.reduce_scatter(floats(input_), floats(output_), piece / sizeof(float), heddle::op::sum);
  }
  void reduce(std::size_t piece) {
    world_.reduce(floats(input_), floats(output_), piece / sizeof(float), heddle::op::sum, 0);
  }

 private:
  static float* floats(unsigned char* bytes) { return reinterpret_cast<float*>(bytes); }

  heddle::runtime runtime_;  // releases the buffers when it ends
  heddle::team world_;
  unsigned char* input_;
  unsigned char* output_;
};

}  // namespace

int main(int argc, char** argv) {
  const auto options = bench::options::parse(argc, argv, "heddle's collectives beside AllReduce");
  return bench::run_program("collective", [&] {
    heddle_contender contender(options.max_bytes);
    bench::report_binding(contender.my_pe());
    bench::sweep_collectives(contender, "heddle", options);
  });
}
