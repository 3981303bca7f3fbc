// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace perf {

/// A buffer's pieces, one for each PE, one behind the other.
struct pieces {
  std::vector<std::size_t> counts;
  std::vector<std::size_t> displacements;
  std::size_t total = 0;

  void add(std::size_t count) {
    counts.push_back(count);
    displacements.push_back(total);
    total += count;
  }
};

/// Of `count` elements for each of n_pes.
inline pieces divide(int n_pes, std::size_t count) {
  pieces made;
  for (int pe = 0; pe < n_pes; ++pe) made.add(count);
  return made;
}

}  // namespace perf
