// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle {

/// Up to how many bytes of a call each way is quickest: all that plans know of a machine. A profile
/// that `heddle-perf tune` has measured (HEDDLE_TUNING) replaces what it names.
struct tuning {
  // Of what combines. One-shot: LL, whose words need no flag of their own but cost twice the bytes,
  // then LL128, whose lines are looked at twice, then a copy, a fence and a flag.
  std::size_t one_shot_ll;
  std::size_t one_shot_ll128;
  /// One hop with all the bytes is quicker than two with their n-th parts. Of two PEs: the bytes
  /// that a PE takes in grow with their number.
  std::size_t one_shot;
  /// The same over the network, where two-shot's second hop and its replies are dear.
  std::size_t network_one_shot;
  /// A tree's 2 log n hops are quicker than a ring's 2 n with n-th parts.
  std::size_t tree;
  // On links: as one-shot's.
  std::size_t link_ll;
  std::size_t link_ll128;

  // Of what combines nothing, the bytes of a piece: see exchange.hpp.
  std::size_t words;
  std::size_t slots;
  /// Where one PE alone sends, or receives, slots let it run ahead, and a meeting would not.
  std::size_t rooted_slots;
  std::size_t network_slots;

  bool operator==(const tuning&) const = default;
};

/// The host's were measured (docs/performance.md), but for those of the network. CUDA's are counted
/// on paper, from the bytes on the wire and the round trips to memory that each way costs; no GPU
/// has seen them yet.
const tuning& built_in_tuning(bool on_cuda);

/// `base` with what a profile's text (JSON) gives. Throws HEDDLE_ERROR_INVALID_ARGUMENT, with
/// `name` and what is wrong, for any that is not one.
tuning read_tuning(std::string_view text, const std::string& name, const tuning& base);
/// The same of a file; "" is `base`.
tuning read_tuning_file(const std::string& path, const tuning& base);

/// Each limit with its name.
std::vector<std::pair<std::string_view, std::size_t>> entries(const tuning& limits);

}  // namespace heddle
