// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

namespace heddle {

/// The tree that joins the ranks of a job: within a host a tree under its lowest rank, and those
/// lowest ranks in a tree under rank 0, each of at most `fan_out` children. So a host has one
/// connection up, whatever the launcher's order of ranks is. The same on every rank: a function of
/// the hosts.
class tree_shape {
 public:
  static constexpr int usual_fan_out = 8;
  tree_shape(std::span<const std::string> hosts, int fan_out);

  /// -1 for rank 0.
  [[nodiscard]] int parent(int rank) const { return parents_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const std::vector<int>& children(int rank) const {
    return children_[static_cast<std::size_t>(rank)];
  }
  /// True if `above` is on the way from `rank` to the root, `rank` itself left out.
  [[nodiscard]] bool is_above(int above, int rank) const;
  /// The child of `from` through which `to`, which is below it, is reached; -1 if it is not below.
  [[nodiscard]] int child_towards(int from, int to) const;

 private:
  void join(const std::vector<int>& ranks, int fan_out);

  std::vector<int> parents_;
  std::vector<std::vector<int>> children_;
};

}  // namespace heddle
