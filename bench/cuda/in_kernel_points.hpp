// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>

#include "collective_data.hpp"
#include "options.hpp"

/// The benchmark of the collectives that kernels call, by one block of each PE: float32, sum, out
/// of place, n calls in a row.
namespace bench {

inline constexpr std::array in_kernel_collectives = {
    gpu_collective::all_reduce, gpu_collective::broadcast, gpu_collective::all_gather,
    gpu_collective::reduce_scatter, gpu_collective::all_to_all};
inline constexpr int in_kernel_threads = 256;
inline constexpr std::size_t in_kernel_max_bytes = 64 << 10;

/// `launch(what, count, n)` starts a kernel of n calls with pieces of `count` elements on each PE.
template <class T>
concept in_kernel_contender = requires(T& contender, gpu_collective what, std::size_t count,
                                       std::uint64_t n, std::vector<float>& values) {
  { contender.my_pe() } -> std::convertible_to<int>;
  { contender.n_pes() } -> std::convertible_to<int>;
  contender.write_input(values);
  contender.clear_output(count);
  { contender.read_output(count) } -> std::same_as<std::vector<float>>;  // waits for the kernel
  contender.launch(what, count, n);
  contender.time_launches(what, count);
  contender.report(what, count, 0.0);
};

template <in_kernel_contender Contender>
void measure_in_kernel(Contender& contender, const gpu_options& options) {
  const int me = contender.my_pe();
  std::vector<float> input(in_kernel_max_bytes / sizeof(float));
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = collective_input(me, i);
  contender.write_input(input);
  for (const auto what : in_kernel_collectives) {
    const collective_data data{what, contender.n_pes()};
    for (const std::size_t bytes :
         options.up_to_max({8, 64, 512, 2048, 4096, 16'384, in_kernel_max_bytes})) {
      const std::size_t count = data.count_of(bytes);
      if (count == 0) continue;
      contender.clear_output(data.outputs(count));
      contender.launch(what, count, 1);
      const auto output = contender.read_output(data.outputs(count));
      for (std::size_t i = 0; i < output.size(); ++i)
        if (output[i] != data.output(me, i, count))
          throw std::runtime_error(std::string("wrong result of ") + name_of(what) +
                                   " in a kernel: element " + std::to_string(i) + " of " +
                                   std::to_string(output.size()));
      contender.report(what, bytes, contender.time_launches(what, count));
    }
  }
}

/// What it is called in reports.
inline std::string in_kernel_name(gpu_collective what) {
  return std::string(name_of(what)) + " in a kernel";
}

}  // namespace bench
