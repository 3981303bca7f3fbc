// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "topology/machine.hpp"

#include <sched.h>

#include <algorithm>
#include <numeric>

#include "support/processor_list.hpp"

namespace heddle::topology {

std::string nic::name() const {
  for (const bool rdma : {true, false})
    for (const auto& port : ports)
      if (port.is_rdma == rdma) return port.name;
  return place.address;
}

bool nic::has_rdma() const {
  return std::any_of(ports.begin(), ports.end(), [](const auto& port) { return port.is_rdma; });
}

bool nic::is_down() const {
  return !ports.empty() &&
         std::all_of(ports.begin(), ports.end(), [](const auto& port) { return port.is_down(); });
}

double nic::gigabits() const {
  double most = 0;
  for (const auto& port : ports) most = std::max(most, port.gigabits);
  return most;
}

int machine::cores() const {
  int count = 0;
  for (const auto& each : packages) count += each.cores;
  return count;
}

std::uint64_t machine::memory_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& each : numa_nodes) bytes += each.memory_bytes;
  return bytes;
}

int machine::numa_nodes_with_cores() const {
  return static_cast<int>(std::count_if(numa_nodes.begin(), numa_nodes.end(),
                                        [](const auto& node) { return node.cores > 0; }));
}

void sort_gpus(machine& machine) {
  std::vector<int> order(machine.gpus.size());
  std::iota(order.begin(), order.end(), 0);
  const auto address = [&](int i) -> const std::string& {
    return machine.gpus[static_cast<std::size_t>(i)].place.address;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return address(a) < address(b); });
  std::vector<gpu> sorted;
  std::vector<int> place_of(order.size());
  for (const int old : order) {
    place_of[static_cast<std::size_t>(old)] = static_cast<int>(sorted.size());
    sorted.push_back(std::move(machine.gpus[static_cast<std::size_t>(old)]));
  }
  machine.gpus = std::move(sorted);
  for (auto& each : machine.gpus)
    for (auto& links : each.links)
      if (links.peer == nvlinks::kind::gpu && links.index >= 0)
        links.index = place_of[static_cast<std::size_t>(links.index)];
  for (auto& each : machine.pes)
    if (each.gpu >= 0) each.gpu = place_of[static_cast<std::size_t>(each.gpu)];
}

locality locate(const machine& machine, const std::string& processors) {
  const auto wanted = set_of_processors(processors);
  locality found;
  bool spans_packages = false;
  int nodes = 0;
  for (std::size_t i = 0; i < machine.numa_nodes.size(); ++i) {
    const auto& node = machine.numa_nodes[i];
    if (node.cores == 0) continue;
    auto common = set_of_processors(node.processors);
    CPU_AND(&common, &common, &wanted);
    if (CPU_COUNT(&common) == 0) continue;
    spans_packages |= nodes > 0 && found.package != node.package;
    found = {node.package, static_cast<int>(i)};
    ++nodes;
  }
  if (nodes > 1) found.numa_node = -1;
  if (spans_packages) found.package = -1;
  return found;
}

}  // namespace heddle::topology
