// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

/// The collectives that are measured on a GPU.
namespace bench {

enum class gpu_collective { all_reduce, broadcast, reduce, all_gather, reduce_scatter, all_to_all };

inline constexpr std::array<const char*, 6> gpu_collective_names = {
    "all_reduce", "broadcast", "reduce", "all_gather", "reduce_scatter", "all_to_all"};

constexpr const char* name_of(gpu_collective what) {
  return gpu_collective_names[static_cast<std::size_t>(what)];
}

/// By name. Throws for any other, with the names.
inline gpu_collective collective_called(std::string_view name) {
  std::string all;
  for (std::size_t i = 0; i < gpu_collective_names.size(); ++i) {
    if (name == gpu_collective_names[i]) return static_cast<gpu_collective>(i);
    all += std::string(i ? ", " : "") + gpu_collective_names[i];
  }
  throw std::invalid_argument("--collective " + std::string(name) + ": there are " + all);
}

}  // namespace bench
