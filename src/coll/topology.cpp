// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "coll/topology.hpp"

#include <bit>

namespace heddle {

namespace {

/// The root of positions [begin, end), begin even: all on its left are a full tree, and it is odd
/// unless it is alone.
int root_of(int begin, int end) {
  return begin + static_cast<int>(std::bit_floor(static_cast<unsigned>(end - begin))) - 1;
}

/// The place of `position` in the in-order tree of n positions.
team_topology::tree in_order_tree(int position, int n) {
  team_topology::tree tree;
  int begin = 0;
  int end = n;
  int root = root_of(begin, end);
  while (root != position) {
    tree.parent = root;
    tree.place = position < root ? 0 : 1;
    (position < root ? end : begin) = position < root ? root : root + 1;
    root = root_of(begin, end);
  }
  if (begin < root) tree.children[0] = root_of(begin, root);
  if (root + 1 < end) tree.children[1] = root_of(root + 1, end);
  return tree;
}

/// Where position `wanted` is, seen from `position`: see tree::to_root.
int direction_to(int wanted, int position, int n) {
  int begin = 0;
  int end = n;
  for (int root = root_of(begin, end); root != position; root = root_of(begin, end))
    (position < root ? end : begin) = position < root ? root : root + 1;
  if (wanted == position) return team_topology::tree::here;
  if (wanted < begin || wanted >= end) return team_topology::tree::elsewhere;
  return wanted < position ? 0 : 1;
}

/// A PE's position in the second tree.
int second_position(int position, int n_pes) {
  return n_pes % 2 == 0 ? n_pes - 1 - position : (position + 1) % n_pes;
}

}  // namespace

void set_domains(team_topology& topology, const team_domains& domains, const std::int32_t* pes) {
  if (!domains.is_hierarchy()) return;
  topology.domains = {.count = domains.count,
                      .size = domains.size,
                      .mine = topology.ring_position / domains.size,
                      .index = topology.ring_position % domains.size,
                      .pes = pes};
}

void set_root(team_topology& topology, int n_pes, int root, const team_order& order) {
  const int position = topology.ring_position;
  topology.ring_root = order.position(root);
  topology.trees[0].to_root = direction_to(topology.ring_root, position, n_pes);
  topology.trees[1].to_root = direction_to(second_position(topology.ring_root, n_pes),
                                           second_position(position, n_pes), n_pes);
}

team_topology topology_of(int pe, int n_pes, const team_order& order) {
  team_topology topology;
  const int mine = order.position(pe);
  topology.ring_position = mine;
  topology.ring_next = order.pe((mine + 1) % n_pes);
  topology.ring_previous = order.pe((mine + n_pes - 1) % n_pes);
  topology.trees[0] = in_order_tree(mine, n_pes);

  const bool mirrored = n_pes % 2 == 0;
  auto back = [&](int position) {
    if (position < 0) return -1;
    return mirrored ? n_pes - 1 - position : (position + n_pes - 1) % n_pes;
  };
  auto& second = topology.trees[1];
  second = in_order_tree(second_position(mine, n_pes), n_pes);
  second.parent = back(second.parent);
  for (int& child : second.children) child = back(child);
  for (auto& tree : topology.trees) {
    tree.parent = order.pe(tree.parent);
    for (int& child : tree.children) child = order.pe(child);
  }
  return topology;
}

}  // namespace heddle
