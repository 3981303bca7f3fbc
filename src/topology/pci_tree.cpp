// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "topology/pci_tree.hpp"

#include <cstddef>
#include <set>
#include <string>

namespace heddle::topology {
namespace {

/// Without the function: what is in one slot is one card.
std::string slot_of(const std::string& address) { return address.substr(0, address.rfind('.')); }

}  // namespace

std::vector<int> find_switches(const machine& machine) {
  const auto& bridges = machine.bridges;
  std::vector<std::set<std::string>> below(bridges.size());  // cards, and bridges that lead to some
  const auto count = [&](const auto& devices) {
    for (const auto& each : devices)
      if (each.place.bridge >= 0) below[at(each.place.bridge)].insert(slot_of(each.place.address));
  };
  count(machine.gpus);
  count(machine.nics);
  for (auto i = bridges.size(); i-- > 0;)
    if (!below[i].empty() && bridges[i].parent >= 0)
      below[at(bridges[i].parent)].insert("bridge " + std::to_string(i));
  std::vector<int> result(bridges.size());
  for (std::size_t i = 0; i < bridges.size(); ++i) {
    const int parent = bridges[i].parent;
    result[i] = parent < 0 || below[i].size() > 1 ? static_cast<int>(i) : result[at(parent)];
  }
  return result;
}

std::vector<pci_node> pci_tree(const machine& machine) {
  const auto switch_of = find_switches(machine);
  const auto& bridges = machine.bridges;
  std::vector<pci_node> nodes(bridges.size());
  const auto hang = [&](const auto& devices, std::vector<int> pci_node::*list) {
    for (std::size_t i = 0; i < devices.size(); ++i)
      if (const int bridge = devices[i].place.bridge; bridge >= 0)
        (nodes[at(switch_of[at(bridge)])].*list).push_back(static_cast<int>(i));
  };
  hang(machine.gpus, &pci_node::gpus);
  hang(machine.nics, &pci_node::nics);
  std::vector<pci_node> roots;
  // Children first, so that a node is whole when it moves to its parent.
  for (auto i = bridges.size(); i-- > 0;) {
    auto& node = nodes[i];
    node.bridge = static_cast<int>(i);
    if (switch_of[i] != node.bridge ||
        (node.gpus.empty() && node.nics.empty() && node.switches.empty()))
      continue;
    const int parent = bridges[i].parent;
    auto& siblings = parent < 0 ? roots : nodes[at(switch_of[at(parent)])].switches;
    siblings.insert(siblings.begin(), std::move(node));
  }
  return roots;
}

}  // namespace heddle::topology
