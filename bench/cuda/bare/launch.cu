// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// What it costs to launch an empty kernel, on a stream and in a graph, from as many threads, each
// with a stream of its own, as there are PEs.
#include <thread>

#include "../cuda_calls.hpp"
#include "../meeting.hpp"
#include "../options.hpp"

namespace {

__global__ void nothing() {}

void launch(const bench::gpu_stream& stream) {
  nothing<<<1, 32, 0, stream.get()>>>();
  bench::check(cudaGetLastError(), "launching nothing");
}

void measure(int me, bench::meeting& all, const bench::gpu_options& options) {
  const bench::gpu_stream stream;
  const auto time = [&](const char* variant, int launches, auto enqueue) {
    const double us = bench::time_per_iteration(
        [&](std::uint64_t n) {
          for (std::uint64_t i = 0; i < n; ++i) enqueue();
          stream.synchronize();
        },
        [&](double x) { return all.largest(x); }, options.measure);
    if (me == 0) bench::report("launch", variant, 0, us / launches);
  };
  time("stream", 1, [&] { launch(stream); });
  time("stream, waited for", 1, [&] {
    launch(stream);
    stream.synchronize();
  });
  const bench::gpu_graph graph(stream.get(), cudaStreamCaptureModeThreadLocal, [&] {
    for (int i = 0; i < bench::calls_per_graph; ++i) launch(stream);
  });
  time("graph", bench::calls_per_graph, [&] { graph.launch(stream.get()); });
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program("gpu_bare_launch", [&] {
    const auto options = bench::gpu_options::parse(argc, argv);
    bench::meeting all(options.pes);
    std::exception_ptr failure;
    std::mutex mutex;
    {
      std::vector<std::jthread> threads;
      for (int me = 0; me < options.pes; ++me)
        threads.emplace_back([&, me] {
          try {
            measure(me, all, options);
          } catch (...) {
            all.fail();
            const std::lock_guard lock(mutex);
            if (!failure) failure = std::current_exception();
          }
        });
    }
    if (failure) std::rethrow_exception(failure);
  });
}
