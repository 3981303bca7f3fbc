// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>

#include "cuda_calls.hpp"
#include "options.hpp"

/// The AllReduce benchmark of every contender on a GPU: float32, sum, out of place, put on a stream
/// or captured into a CUDA graph that is replayed.
namespace bench {

/// `all_reduce` is put on the contender's stream, of which `synchronize` waits for all.
/// `cuda_stream` is asked for by captures alone.
template <class T>
concept gpu_all_reducer = requires(T& contender, std::size_t count, double x,
                                   std::vector<float>& values) {
  { contender.my_pe() } -> std::convertible_to<int>;
  { contender.n_pes() } -> std::convertible_to<int>;
  { contender.agree(x) } -> std::convertible_to<double>;  // the largest of all PEs; a barrier
  contender.write_input(values);
  contender.clear_output(count);
  { contender.read_output(count) } -> std::same_as<std::vector<float>>;
  contender.all_reduce(count);
  contender.synchronize();
  { contender.cuda_stream() } -> std::same_as<cudaStream_t>;
};

inline constexpr std::size_t all_reduce_max_bytes = 64 << 20;

inline std::vector<std::size_t> all_reduce_sizes() {
  std::vector<std::size_t> sizes;
  for (std::size_t bytes = 8; bytes <= all_reduce_max_bytes; bytes *= 2) sizes.push_back(bytes);
  return sizes;
}

/// Small integers: every sum is exact, in any order.
inline float all_reduce_element(int pe, std::size_t i) {
  return static_cast<float>((i * 7 + static_cast<std::size_t>(pe) * 3) % 61);
}

/// One call through `run()`, whose every element is looked at.
template <gpu_all_reducer Contender, class Run>
void verify_all_reduce(Contender& contender, std::size_t count, Run run) {
  contender.clear_output(count);
  contender.agree(0);
  run();
  contender.synchronize();
  const auto output = contender.read_output(count);
  for (std::size_t i = 0; i < count; ++i) {
    float sum = 0;
    for (int pe = 0; pe < contender.n_pes(); ++pe) sum += all_reduce_element(pe, i);
    if (output[i] != sum)
      throw std::runtime_error("wrong result: element " + std::to_string(i) + " of " +
                               std::to_string(count) + " of PE " +
                               std::to_string(contender.my_pe()) + " is " +
                               std::to_string(output[i]) + ", not " + std::to_string(sum));
  }
  contender.agree(0);
}

template <gpu_all_reducer Contender, class Enqueue>
double time_all_reduce(Contender& contender, const effort& effort, Enqueue enqueue) {
  return time_per_iteration(
      [&](std::uint64_t n) {
        for (std::uint64_t i = 0; i < n; ++i) enqueue();
        contender.synchronize();
      },
      [&](double x) { return contender.agree(x); }, effort);
}

/// Measures the sizes: calls on the stream, or, with --graph, replays of a graph.
template <gpu_all_reducer Contender>
void measure_all_reduces(Contender& contender, const std::string& variant,
                         const gpu_options& options) {
  const auto sizes = options.up_to_max(all_reduce_sizes());
  std::vector<float> input(sizes.empty() ? 0 : sizes.back() / sizeof(float));
  for (std::size_t i = 0; i < input.size(); ++i)
    input[i] = all_reduce_element(contender.my_pe(), i);
  contender.write_input(input);
  for (const std::size_t bytes : sizes) {
    const std::size_t count = bytes / sizeof(float);
    const auto call = [&] { contender.all_reduce(count); };
    verify_all_reduce(contender, count, call);
    double us = 0;
    if (options.graph) {
      const int calls = bytes <= (64 << 10) ? calls_per_graph : 4;
      const gpu_graph graph(contender.cuda_stream(), cudaStreamCaptureModeThreadLocal, [&] {
        for (int i = 0; i < calls; ++i) call();
      });
      const auto replay = [&] { graph.launch(contender.cuda_stream()); };
      verify_all_reduce(contender, count, replay);
      us = time_all_reduce(contender, options.measure, replay) / calls;
    } else {
      us = time_all_reduce(contender, options.measure, call);
    }
    if (contender.my_pe() == 0)
      report(options.graph ? "all_reduce in a graph" : "all_reduce on a stream", variant, bytes,
             us);
  }
}

}  // namespace bench
