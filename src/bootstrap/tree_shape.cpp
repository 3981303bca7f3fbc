// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/tree_shape.hpp"

#include <unordered_map>

namespace heddle {
namespace {

// Ranks in breadth-first order under the first.
void join_as_tree(const std::vector<int>& ranks, int fan_out, std::vector<int>& parents) {
  for (std::size_t i = 1; i < ranks.size(); ++i)
    parents[static_cast<std::size_t>(ranks[i])] =
        ranks[(i - 1) / static_cast<std::size_t>(fan_out)];
}

}  // namespace

tree_shape::tree_shape(std::span<const std::string> hosts, int fan_out)
    : parents_(hosts.size(), -1) {
  std::unordered_map<std::string, std::size_t> index;
  std::vector<std::vector<int>> members;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    auto [place, is_new] = index.try_emplace(hosts[rank], members.size());
    if (is_new) members.emplace_back();
    members[place->second].push_back(static_cast<int>(rank));
  }
  std::vector<int> leaders;
  for (auto& host : members) {
    join_as_tree(host, fan_out, parents_);
    leaders.push_back(host.front());
  }
  join_as_tree(leaders, fan_out, parents_);
}

std::vector<int> tree_shape::children(int rank) const {
  std::vector<int> found;
  for (std::size_t other = 0; other < parents_.size(); ++other)
    if (parents_[other] == rank) found.push_back(static_cast<int>(other));
  return found;
}

bool tree_shape::is_above(int above, int rank) const {
  for (int at = parent(rank); at >= 0; at = parent(at))
    if (at == above) return true;
  return false;
}

int tree_shape::child_towards(int from, int to) const {
  for (int at = to; at >= 0; at = parent(at))
    if (parent(at) == from) return at;
  return -1;
}

}  // namespace heddle
