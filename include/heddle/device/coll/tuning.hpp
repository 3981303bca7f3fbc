// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/platform.hpp>

namespace heddle {

/// Up to how many bytes of a call each way is quickest: all that plans know of a machine. A profile
/// that `heddle-perf tune` has measured (HEDDLE_TUNING) replaces what it names.
struct tuning {
  // Of what combines. One-shot: LL, whose words need no flag of their own but cost twice the bytes,
  // then LL128, whose lines are looked at twice, then a copy, a fence and a flag.
  size_t one_shot_ll;
  size_t one_shot_ll128;
  /// One hop with all the bytes is quicker than two with their n-th parts. Of two PEs: the bytes
  /// that a PE takes in grow with their number.
  size_t one_shot;
  /// The same over the network, where two-shot's second hop and its replies are dear.
  size_t network_one_shot;
  /// A tree's 2 log n hops are quicker than a ring's 2 n with n-th parts.
  size_t tree;
  // On links: as one-shot's.
  size_t link_ll;
  size_t link_ll128;

  // Of what combines nothing, the bytes of a piece: see exchange.hpp.
  size_t words;
  size_t slots;
  /// Where one PE alone sends, or receives, slots let it run ahead, and a meeting would not.
  size_t rooted_slots;
  size_t network_slots;

  bool operator==(const tuning&) const = default;
};

// The host's were measured (docs/performance.md), but for those of the network. CUDA's are counted
// on paper, from the bytes on the wire and the round trips to memory that each way costs; no GPU
// has seen them yet.

inline constexpr tuning host_tuning = {.one_shot_ll = 32,
                                       .one_shot_ll128 = 0,
                                       .one_shot = 1024,
                                       .network_one_shot = 16'384,
                                       .tree = 262'144,
                                       .link_ll = 1024,
                                       .link_ll128 = 0,
                                       .words = 64,
                                       .slots = 512,
                                       .rooted_slots = 1024,
                                       .network_slots = 65'536};

// LL: while its second half of flags costs less than another look at the lines, from slots of all
// channels, in one hop. One-shot: while the bytes that it sends more than two-shot take NVLink less
// time than a second hop with its fences. Links: up to some slots of every channel.
inline constexpr tuning cuda_tuning = {.one_shot_ll = 32'768,
                                       .one_shot_ll128 = 1'048'576,
                                       .one_shot = 524'288,
                                       .network_one_shot = 16'384,
                                       .tree = 262'144,
                                       .link_ll = 131'072,
                                       .link_ll128 = 2'097'152,
                                       .words = 32'768,
                                       .slots = 262'144,
                                       .rooted_slots = 262'144,
                                       .network_slots = 65'536};

}  // namespace heddle
