// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/tree_shape.hpp"

#include <unordered_map>

namespace heddle {

tree_shape::tree_shape(std::span<const std::string> hosts, int fan_out)
    : parents_(hosts.size(), -1), children_(hosts.size()) {
  std::unordered_map<std::string, std::size_t> index;
  std::vector<std::vector<int>> members;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    auto [place, is_new] = index.try_emplace(hosts[rank], members.size());
    if (is_new) members.emplace_back();
    members[place->second].push_back(static_cast<int>(rank));
  }
  std::vector<int> leaders;
  for (auto& host : members) {
    join(host, fan_out);
    leaders.push_back(host.front());
  }
  join(leaders, fan_out);
}

// In breadth-first order under the first.
void tree_shape::join(const std::vector<int>& ranks, int fan_out) {
  for (std::size_t i = 1; i < ranks.size(); ++i) {
    const int parent = ranks[(i - 1) / static_cast<std::size_t>(fan_out)];
    parents_[static_cast<std::size_t>(ranks[i])] = parent;
    children_[static_cast<std::size_t>(parent)].push_back(ranks[i]);
  }
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
