// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include "collective_data.hpp"

/// The benchmark of the collectives that kernels call, by one block of each PE: float32, sum, out
/// of place, n calls in a row.
namespace bench {

inline constexpr int in_kernel_threads = 256;
inline constexpr std::size_t in_kernel_max_bytes = 64 << 10;
inline constexpr std::size_t in_kernel_elements = in_kernel_max_bytes / sizeof(float);

/// One collective of a PE (gpu_pe, nvshmem_pe) whose buffers have in_kernel_elements each.
/// `launch(count, n)` starts a kernel of n calls with pieces of `count` elements.
template <class Pe, class Launch>
void measure_in_kernel(Pe& pe, gpu_collective what, float* output, Launch launch) {
  const collective_data data{what, pe.n_pes()};
  for (const std::size_t bytes :
       pe.options().up_to_max({8, 64, 512, 2048, 4096, 16'384, in_kernel_max_bytes})) {
    const std::size_t count = data.count_of(bytes);
    if (count == 0) continue;
    pe.write(output, std::vector<float>(data.outputs(count)));
    pe.agree(0);
    launch(count, std::uint64_t{1});
    require_right(data, pe.my_pe(), count, pe.read(output, data.outputs(count)));
    pe.report(std::string(name_of(what)) + " in a kernel", "block", bytes,
              pe.time([&](std::uint64_t n) { launch(count, n); }));
  }
}

/// All of them: `launch(what, count, n)`, `what` an integral constant.
template <class Pe, class Launch>
void measure_in_kernel(Pe& pe, float* input, float* output, Launch launch) {
  std::vector<float> content(in_kernel_elements);
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = collective_input(pe.my_pe(), i);
  pe.write(input, content);
  const auto measure = [&]<gpu_collective What>(std::integral_constant<gpu_collective, What> what) {
    measure_in_kernel(pe, What, output,
                      [&](std::size_t count, std::uint64_t n) { launch(what, count, n); });
  };
  const auto measure_all = [&]<gpu_collective... What>() {
    (measure(std::integral_constant<gpu_collective, What>()), ...);
  };
  using enum gpu_collective;
  measure_all.template operator()<all_reduce, broadcast, all_gather, reduce_scatter, all_to_all>();
}

}  // namespace bench
