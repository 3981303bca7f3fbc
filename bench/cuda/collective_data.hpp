// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "collective_names.hpp"

/// What goes into a collective that is measured on a GPU, and what must come out.
namespace bench {

inline constexpr int collective_root = 0;

/// Small integers: every sum is exact, in any order. None is 0, as outputs are before.
inline float collective_input(int pe, std::size_t i) {
  return static_cast<float>(1 + (i * 7 + static_cast<std::size_t>(pe) * 3) % 61);
}

/// One collective among `n_pes`. `count` is the elements of a piece: of a whole buffer where PEs
/// have no pieces.
struct collective_data {
  gpu_collective what;
  int n_pes;

  /// As in nccl-tests `bytes` are those of the larger buffer of a PE: all its pieces.
  [[nodiscard]] std::size_t count_of(std::size_t bytes) const {
    return bytes / sizeof(float) / (has_pieces() ? static_cast<std::size_t>(n_pes) : 1);
  }
  [[nodiscard]] std::size_t outputs(std::size_t count) const {
    const bool many = what == gpu_collective::all_gather || what == gpu_collective::all_to_all;
    return many ? static_cast<std::size_t>(n_pes) * count : count;
  }
  [[nodiscard]] bool gives_to(int pe) const {
    return what != gpu_collective::reduce || pe == collective_root;
  }
  /// Element i of that PE's output.
  [[nodiscard]] float output(int pe, std::size_t i, std::size_t count) const {
    const std::size_t of_my_piece = static_cast<std::size_t>(pe) * count;
    switch (what) {
      case gpu_collective::all_reduce:
      case gpu_collective::reduce:
        return sum(i);
      case gpu_collective::broadcast:
        return collective_input(collective_root, i);
      case gpu_collective::all_gather:
        return collective_input(static_cast<int>(i / count), i % count);
      case gpu_collective::reduce_scatter:
        return sum(of_my_piece + i);
      case gpu_collective::all_to_all:
        return collective_input(static_cast<int>(i / count), of_my_piece + i % count);
    }
    return 0;
  }

 private:
  [[nodiscard]] bool has_pieces() const {
    return what == gpu_collective::all_gather || what == gpu_collective::reduce_scatter ||
           what == gpu_collective::all_to_all;
  }
  [[nodiscard]] float sum(std::size_t i) const {
    float result = 0;
    for (int pe = 0; pe < n_pes; ++pe) result += collective_input(pe, i);
    return result;
  }
};

/// Throws for the first element of a PE's output that is not what it must be.
inline void require_right(const collective_data& data, int pe, std::size_t count,
                          const std::vector<float>& output) {
  for (std::size_t i = 0; i < output.size(); ++i) {
    const float right = data.output(pe, i, count);
    if (output[i] != right)
      throw std::runtime_error(std::string("wrong result: ") + name_of(data.what) + ": element " +
                               std::to_string(i) + " of " + std::to_string(output.size()) +
                               " of PE " + std::to_string(pe) + " is " + std::to_string(output[i]) +
                               ", not " + std::to_string(right));
  }
}

}  // namespace bench
