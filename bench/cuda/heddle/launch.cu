// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// What it costs to launch an empty kernel through heddle::launch, on a stream and in a graph.
#include "../cuda_calls.hpp"
#include "gpu_pe.hpp"

namespace {

using bench::gpu_pe;

struct nothing {
  template <heddle::block_group Block>
  HEDDLE_FN void operator()(Block) const {}
};

void measure_graph(gpu_pe& pe) {
  const bench::gpu_stream own;
  const auto stream = pe.runtime().stream_from_cuda(own.get());
  const bench::gpu_graph graph(own.get(), cudaStreamCaptureModeThreadLocal, [&] {
    for (int i = 0; i < bench::calls_per_graph; ++i) heddle::launch(stream, 1, 32, nothing{});
  });
  const double us = pe.time([&](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) graph.launch(own.get());
    own.synchronize();
  });
  pe.report("launch", "graph", 0, us / bench::calls_per_graph);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program("gpu_heddle_launch", [&] {
    const auto options = bench::gpu_options::parse(argc, argv);
    bench::run_gpu_pes(options, [](gpu_pe& pe) {
      const auto launch = [&] { heddle::launch(pe.stream(), 1, 32, nothing{}); };
      const double in_a_row = pe.time([&](std::uint64_t n) {
        for (std::uint64_t i = 0; i < n; ++i) launch();
      });
      pe.report("launch", "stream", 0, in_a_row);
      const double waited_for = pe.time([&](std::uint64_t n) {
        for (std::uint64_t i = 0; i < n; ++i) {
          launch();
          pe.stream().synchronize();
        }
      });
      pe.report("launch", "stream, waited for", 0, waited_for);
      if (pe.options().graph) measure_graph(pe);
    });
  });
}
