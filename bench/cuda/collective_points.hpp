// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>

#include "collective_data.hpp"
#include "cuda_calls.hpp"
#include "options.hpp"

/// The benchmark of the collectives of every contender on a GPU: float32, sum, out of place, put on
/// a stream or captured into a CUDA graph that is replayed.
namespace bench {

/// `enqueue` puts one call with pieces of `count` elements on the contender's stream, of which
/// `synchronize` waits for all. `cuda_stream` is asked for by captures alone.
template <class T>
concept gpu_collective_contender = requires(T& contender, gpu_collective what, std::size_t count,
                                            double x, std::vector<float>& values) {
  { contender.my_pe() } -> std::convertible_to<int>;
  { contender.n_pes() } -> std::convertible_to<int>;
  { contender.agree(x) } -> std::convertible_to<double>;  // the largest of all PEs; a barrier
  contender.write_input(values);
  contender.clear_output(count);
  { contender.read_output(count) } -> std::same_as<std::vector<float>>;
  contender.enqueue(what, count);
  contender.synchronize();
  { contender.cuda_stream() } -> std::same_as<cudaStream_t>;
};

inline constexpr std::size_t collective_max_bytes = 64 << 20;

/// Those that leave each PE a piece.
inline std::vector<std::size_t> collective_sizes(const collective_data& data) {
  std::vector<std::size_t> sizes;
  for (std::size_t bytes = 8; bytes <= collective_max_bytes; bytes *= 2)
    if (data.count_of(bytes) > 0) sizes.push_back(bytes);
  return sizes;
}

/// One call through `run()`, whose every element is looked at.
template <gpu_collective_contender Contender, class Run>
void verify_collective(Contender& contender, const collective_data& data, std::size_t count,
                       Run run) {
  const int me = contender.my_pe();
  const std::size_t outputs = data.outputs(count);
  contender.clear_output(outputs);
  contender.agree(0);
  run();
  contender.synchronize();
  if (data.gives_to(me)) require_right(data, me, count, contender.read_output(outputs));
  contender.agree(0);
}

template <gpu_collective_contender Contender, class Enqueue>
double time_collective(Contender& contender, const effort& effort, Enqueue enqueue) {
  return time_per_iteration(
      [&](std::uint64_t n) {
        for (std::uint64_t i = 0; i < n; ++i) enqueue();
        contender.synchronize();
      },
      [&](double x) { return contender.agree(x); }, effort);
}

/// Measures the sizes: calls on the stream, or, with --graph, replays of a graph.
template <gpu_collective_contender Contender>
void measure_collectives(Contender& contender, const std::string& variant,
                         const gpu_options& options) {
  const collective_data data{options.collective, contender.n_pes()};
  const auto sizes = options.up_to_max(collective_sizes(data));
  std::vector<float> input(sizes.empty() ? 0 : sizes.back() / sizeof(float));
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = collective_input(contender.my_pe(), i);
  contender.write_input(input);
  for (const std::size_t bytes : sizes) {
    const std::size_t count = data.count_of(bytes);
    const auto call = [&] { contender.enqueue(data.what, count); };
    verify_collective(contender, data, count, call);
    double us = 0;
    if (options.graph) {
      const int calls = bytes <= (64 << 10) ? calls_per_graph : 4;
      const gpu_graph graph(contender.cuda_stream(), cudaStreamCaptureModeThreadLocal, [&] {
        for (int i = 0; i < calls; ++i) call();
      });
      const auto replay = [&] { graph.launch(contender.cuda_stream()); };
      verify_collective(contender, data, count, replay);
      us = time_collective(contender, options.measure, replay) / calls;
    } else {
      us = time_collective(contender, options.measure, call);
    }
    if (contender.my_pe() == 0)
      report(std::string(name_of(data.what)) + (options.graph ? " in a graph" : " on a stream"),
             variant, bytes, us);
  }
}

}  // namespace bench
