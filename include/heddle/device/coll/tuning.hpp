// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/platform.hpp>

namespace heddle {

/// What a way of moving bytes costs: for each hop, until who receives knows that all is there, and
/// for the bytes that one PE takes in.
struct way_cost {
  double hop_ns;
  double ns_per_kib;

  bool operator==(const way_cost&) const = default;
  /// So many hops, one after the other, and so often the bytes.
  [[nodiscard]] HEDDLE_FN constexpr way_cost times(double hops, double bytes) const {
    return {hop_ns * hops, ns_per_kib * bytes};
  }
};

/// Bytes up to which the first way takes no longer than the second.
HEDDLE_FN constexpr size_t crossover(const way_cost& first, const way_cost& second) {
  const double head_start = second.hop_ns - first.hop_ns;
  const double lost = first.ns_per_kib - second.ns_per_kib;
  if (head_start < 0) return lost < 0 ? ~size_t{0} : 0;
  const double bytes = lost > 0 ? head_start / lost * 1024 : 1e18;
  return bytes < 1e18 ? static_cast<size_t>(bytes) : ~size_t{0};
}

/// All that plans know of a machine: the constants of their model (src/coll/cost_model.hpp). A
/// profile that `heddle-perf tune` has measured (HEDDLE_TUNING) replaces those that it names.
struct tuning {
  // Of what combines, where memory joins all: all bytes in one hop, by protocol, or n-th parts in
  // two.
  way_cost one_shot_ll;
  way_cost one_shot_ll128;
  way_cost one_shot;
  way_cost two_shot;
  // A step along a link, of a ring or a tree.
  way_cost link_ll;
  way_cost link_ll128;
  way_cost link;
  // The same where the network does.
  way_cost network_one_shot;
  way_cost network_link;
  // A piece of what combines nothing: see exchange.hpp; on CUDA also of a one-shot Reduce or
  // ReduceScatter. Where one PE alone sends, or receives, slots let it run ahead, and a meeting
  // would not.
  way_cost words;
  way_cost slots;
  way_cost direct;
  way_cost rooted_words;
  way_cost rooted_slots;
  way_cost rooted_direct;
  way_cost network_slots;
  way_cost network_direct;
  /// Channels that a GPU needs to move as much as it can: fewer take longer, in proportion.
  double full_channels;

  bool operator==(const tuning&) const = default;
};

// The host's were measured (docs/performance.md), and CUDA's of what goes by memory, but for links:
// calls in graphs, 4 PEs that share an H200, less the 3.4 us of their launch.

inline constexpr tuning host_tuning = {.one_shot_ll = {130, 1000},
                                       .one_shot_ll128 = {1000, 1000},
                                       .one_shot = {160, 100},
                                       .two_shot = {110, 12},
                                       .link_ll = {85, 1000},
                                       .link_ll128 = {1000, 1000},
                                       .link = {130, 150},
                                       .network_one_shot = {6000, 450},
                                       .network_link = {6600, 270},
                                       .words = {110, 1300},
                                       .slots = {150, 150},
                                       .direct = {310, 27},
                                       .rooted_words = {70, 900},
                                       .rooted_slots = {110, 170},
                                       .rooted_direct = {330, 12},
                                       .network_slots = {6300, 415},
                                       .network_direct = {12'800, 215},
                                       .full_channels = 1};

/// Where PEs take turns on a processor, so many as were measured: a hop waits until the other's
/// turn comes.
inline constexpr double crowded_pes_per_processor = 2;
inline constexpr tuning crowded_host_tuning = {.one_shot_ll = {3000, 1900},
                                               .one_shot_ll128 = {4000, 1900},
                                               .one_shot = {3100, 255},
                                               .two_shot = {2700, 95},
                                               .link_ll = {1150, 4000},
                                               .link_ll128 = {4000, 4000},
                                               .link = {1580, 256},
                                               .network_one_shot = {24'000, 1050},
                                               .network_link = {32'000, 520},
                                               .words = {1000, 2200},
                                               .slots = {1050, 180},
                                               .direct = {1970, 50},
                                               .rooted_words = {50, 1000},
                                               .rooted_slots = {120, 90},
                                               .rooted_direct = {1600, 25},
                                               .network_slots = {45'000, 1550},
                                               .network_direct = {80'000, 470},
                                               .full_channels = 1};

// Links and the network on paper: a round trip to memory over NVLink takes some 1.5 us, a KiB 2.3
// ns at 450 GB/s, LL twice that; what goes through slots is written and read again, in 0.6.
inline constexpr tuning cuda_tuning = {.one_shot_ll = {1100, 8},
                                       .one_shot_ll128 = {3500, 10},
                                       .one_shot = {5600, 4},
                                       .two_shot = {4550, 1.7},
                                       .link_ll = {3000, 30},
                                       .link_ll128 = {3600, 30},
                                       .link = {5600, 8},
                                       .network_one_shot = {6000, 100},
                                       .network_link = {7500, 50},
                                       .words = {5000, 25},
                                       .slots = {6500, 38},
                                       .direct = {17'300, 8.2},
                                       .rooted_words = {4100, 30},
                                       .rooted_slots = {4500, 33},
                                       .rooted_direct = {16'400, 1.54},
                                       .network_slots = {6000, 120},
                                       .network_direct = {12'000, 26},
                                       .full_channels = 8};

/// Up to how many bytes a way is taken between two PEs, and of what kernels call among all.
struct way_limits {
  size_t one_shot_ll;
  size_t one_shot;
  size_t one_shot_pieces;  ///< of a Reduce or ReduceScatter on CUDA
  size_t network_one_shot;
  // The bytes of a piece.
  size_t words;
  size_t slots;
  size_t rooted_words;
  size_t rooted_slots;
  size_t network_slots;
};
HEDDLE_FN constexpr way_limits limits_by(const tuning& costs) {
  return {.one_shot_ll = crossover(costs.one_shot_ll, costs.one_shot),
          .one_shot = crossover(costs.one_shot, costs.two_shot.times(2, 1)),
          .one_shot_pieces = crossover(costs.slots, costs.two_shot.times(2, 1)),
          .network_one_shot = crossover(costs.network_one_shot, costs.network_link.times(2, 1)),
          .words = crossover(costs.words, costs.slots),
          .slots = crossover(costs.slots, costs.direct),
          .rooted_words = crossover(costs.rooted_words, costs.rooted_slots),
          .rooted_slots = crossover(costs.rooted_slots, costs.rooted_direct),
          .network_slots = crossover(costs.network_slots, costs.network_direct)};
}

}  // namespace heddle
