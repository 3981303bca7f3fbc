// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// Gloo's collectives beside allreduce, as collective_sweep.hpp asks.
#include <gloo/allgather.h>
#include <gloo/alltoall.h>
#include <gloo/broadcast.h>
#include <gloo/gather.h>
#include <gloo/reduce.h>
#include <gloo/reduce_scatter.h>
#include <gloo/scatter.h>

#include <algorithm>
#include <cstring>

#include "../collective_sweep.hpp"
#include "../page_memory.hpp"
#include "gloo_job.hpp"

namespace {

class gloo_contender {
 public:
  explicit gloo_contender(std::size_t capacity)
      : input_(bench::page_memory<unsigned char>(capacity)),
        output_(bench::page_memory<unsigned char>(capacity)) {
    std::fill_n(input(), capacity, 0);
    std::fill_n(output(), capacity, 0);
  }

  [[nodiscard]] int my_pe() const { return job_.my_pe(); }
  [[nodiscard]] int n_pes() const { return job_.n_pes(); }
  [[nodiscard]] unsigned char* input() const { return input_.get(); }
  [[nodiscard]] unsigned char* output() const { return output_.get(); }
  [[nodiscard]] double largest(double x) const { return job_.largest(x); }
  void finish() const { job_.finish(); }

  void broadcast(std::size_t piece) {
    gloo::BroadcastOptions options(job_.context());
    options.setOutput(output(), piece);
    options.setRoot(0);
    gloo::broadcast(options);
  }
  void all_gather(std::size_t piece) {
    gloo::AllgatherOptions options(job_.context());
    options.setInput(input(), piece);
    options.setOutput(output(), all(piece));
    gloo::allgather(options);
  }
  void all_to_all(std::size_t piece) {
    gloo::AlltoallOptions options(job_.context());
    options.setInput(input(), all(piece));
    options.setOutput(output(), all(piece));
    gloo::alltoall(options);
  }
  void gather(std::size_t piece) {
    gloo::GatherOptions options(job_.context());
    options.setInput(input(), piece);
    if (is_root()) options.setOutput(output(), all(piece));
    options.setRoot(0);
    gloo::gather(options);
  }
  void scatter(std::size_t piece) {
    gloo::ScatterOptions options(job_.context());
    std::vector<unsigned char*> pieces;
    for (int pe = 0; is_root() && pe < n_pes(); ++pe)
      pieces.push_back(input() + static_cast<std::size_t>(pe) * piece);
    if (is_root()) options.setInputs(pieces, piece);
    options.setOutput(output(), piece);
    options.setRoot(0);
    gloo::scatter(options);
  }
  /// Gloo's overwrites what it is given.
  void reduce_scatter(std::size_t piece) {
    if (!scatterer_ || piece != scattered_) {
      const auto count = static_cast<int>(piece / sizeof(float));
      scatterer_ = std::make_unique<gloo::ReduceScatterHalvingDoubling<float>>(
          job_.context(), std::vector<float*>{floats(output())}, count * n_pes(),
          std::vector<int>(static_cast<std::size_t>(n_pes()), count));
      scattered_ = piece;
    }
    std::memcpy(output(), input(), all(piece));
    scatterer_->run();
  }
  void reduce(std::size_t piece) {
    gloo::ReduceOptions options(job_.context());
    options.setInput(floats(input()), piece / sizeof(float));
    options.setOutput(floats(output()), piece / sizeof(float));
    options.setRoot(0);
    options.setReduceFunction(static_cast<bench::gloo_job::combination>(&gloo::sum<float>));
    gloo::reduce(options);
  }

 private:
  [[nodiscard]] bool is_root() const { return my_pe() == 0; }
  [[nodiscard]] std::size_t all(std::size_t piece) const {
    return piece * static_cast<std::size_t>(n_pes());
  }
  static float* floats(unsigned char* memory) { return reinterpret_cast<float*>(memory); }

  bench::gloo_job job_;
  bench::page_pointer<unsigned char> input_;
  bench::page_pointer<unsigned char> output_;
  std::unique_ptr<gloo::Algorithm> scatterer_;
  std::size_t scattered_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const auto options = bench::options::parse(argc, argv, "Gloo's collectives beside allreduce");
  return bench::run_program("gloo_collective", [&] {
    gloo_contender contender(options.max_bytes);
    bench::report_binding(contender.my_pe());
    bench::sweep_collectives(contender, "gloo", options);
    contender.finish();
  });
}
