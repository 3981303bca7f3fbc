// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "topology/machine.hpp"
#include "topology/path.hpp"

namespace heddle::topology {

/// An order of ends, each of which sends to the next and the last to the first.
struct ring {
  std::vector<int> order;               ///< indices of the ends
  std::vector<path> hops;               ///< from order[i] to the next; none for a single end
  std::array<int, path_kinds> count{};  ///< hops of each kind
};

/// The ring of these ends, in this order.
ring ring_of(const machine& machine, std::span<const endpoint> ends, std::vector<int> order);

/// The best ring: of the slowest kind of path as few hops as there can be, then of the next
/// slowest, and so on, so that what is behind one PCIe switch, on one NUMA node or joined by more
/// NVLinks is neighbours; of equal ones the first by number. Exact up to `exact_places` distinct
/// devices (by Held and Karp, "A dynamic programming approach to sequencing problems", 1962);
/// beyond, the order of the machine's tree, made better by exchanges (2-opt) until none helps.
ring best_ring(const machine& machine, std::span<const endpoint> ends);
constexpr int exact_places = 12;

/// That ring, open where it is slowest: the order of these ends along a ring that goes on to other
/// machines from the last of them. As in the ring, if no hop is slower than that to its beginning.
std::vector<int> best_chain(const machine& machine, std::span<const endpoint> ends);

/// "ring 0 1 3 2: NV12 8 times" or "...: PIX 2 times, crosses SYS twice".
std::string describe(const ring& ring, std::span<const int> numbers);

/// "once", "twice", "3 times".
std::string times(int count);

}  // namespace heddle::topology
