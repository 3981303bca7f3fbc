// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace perf {

/// How many units each PE has of what it gives every PE: in the uneven collectives 1, 2, 0, 1, 2,
/// 0 ..., otherwise one.
constexpr std::size_t units_of(int pe, bool uneven) {
  return uneven ? static_cast<std::size_t>((pe + 1) % 3) : 1;
}
/// How many units PE `from` has for PE `to`: each row and each column is 1, 2, 0 ... in another
/// order, and what a PE sends to another is not what it receives from it.
constexpr std::size_t units_between(int from, int to, bool uneven) {
  return units_of(from + 2 * to, uneven);
}

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

/// units(pe) * unit elements for each of n_pes.
template <class Units>
pieces divide(int n_pes, std::size_t unit, Units units) {
  pieces made;
  for (int pe = 0; pe < n_pes; ++pe) made.add(units(pe) * unit);
  return made;
}

/// What the busiest PE has, and what crosses its links, in units.
struct load {
  std::size_t all = 0;
  std::size_t links = 0;
  /// Of the size what crosses the links.
  [[nodiscard]] double share() const {
    return static_cast<double>(links) / static_cast<double>(all);
  }
};

/// Where every PE has what every PE gives, or the reverse, as in all_gather and reduce_scatter.
inline load load_of_shared(int n_pes, bool uneven) {
  std::size_t least = units_of(0, uneven);
  load most{least, 0};
  for (int pe = 1; pe < n_pes; ++pe) {
    most.all += units_of(pe, uneven);
    least = std::min(least, units_of(pe, uneven));
  }
  most.links = most.all - least;
  return most;
}

/// Where every PE has something for every PE.
inline load load_of_pairs(int n_pes, bool uneven) {
  load most;
  for (int pe = 0; pe < n_pes; ++pe) {
    std::size_t sent = 0;
    std::size_t received = 0;
    for (int other = 0; other < n_pes; ++other) {
      sent += units_between(pe, other, uneven);
      received += units_between(other, pe, uneven);
    }
    const std::size_t busier = std::max(sent, received);
    most.all = std::max(most.all, busier);
    most.links = std::max(most.links, busier - units_between(pe, pe, uneven));
  }
  return most;
}

}  // namespace perf
