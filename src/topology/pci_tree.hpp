// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "topology/machine.hpp"

namespace heddle::topology {

/// A host bridge or a PCIe switch, with what hangs on it. The ports between them, which each have
/// one thing below them, are left out, and so is what has neither GPU nor NIC.
struct pci_node {
  int bridge = -1;
  std::vector<pci_node> switches;
  std::vector<int> gpus;
  std::vector<int> nics;
};

/// One for each host bridge.
std::vector<pci_node> pci_tree(const machine& machine);

/// Of each bridge, the switch or host bridge that it belongs to in the tree: itself, if it is one.
std::vector<int> find_switches(const machine& machine);

}  // namespace heddle::topology
