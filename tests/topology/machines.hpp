// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include "topology/machine.hpp"

/// Machines made by hand, for tests.
namespace heddle::testing {

/// Packages of one NUMA node each, of four cores; below each, host bridges with a PCIe switch each
/// (of root port, upstream port and downstream ports), and on every switch so many GPUs and NICs.
struct plan_of_machine {
  int packages = 2;
  int switches = 2;  ///< of a package
  int gpus = 2;      ///< of a switch
  int nics = 1;      ///< of a switch
};

inline topology::machine make_machine(const plan_of_machine& plan) {
  topology::machine made;
  made.name = "made";
  int bus = 0;
  const auto bridge = [&](int parent, int package) {
    made.bridges.push_back({parent, fmt::format("0000:{:02x}:00.0", bus++), {package, package}});
    return static_cast<int>(made.bridges.size()) - 1;
  };
  const auto place_on = [&](int upstream, int package) {
    const int port = bridge(upstream, package);
    return topology::pci_place{
        fmt::format("0000:{:02x}:00.0", bus++), port, {package, package}, 31.5};
  };
  for (int package = 0; package < plan.packages; ++package) {
    made.packages.push_back({package, "a processor", 4});
    topology::numa_node node;
    node.number = package;
    node.package = package;
    node.cores = 4;
    node.threads = 8;
    node.memory_bytes = std::uint64_t{1} << 36;
    node.processors = fmt::format("{}-{}", 8 * package, 8 * package + 7);
    made.numa_nodes.push_back(std::move(node));
    for (int i = 0; i < plan.switches; ++i) {
      const int upstream = bridge(bridge(bridge(-1, package), package), package);
      for (int gpu = 0; gpu < plan.gpus; ++gpu) {
        topology::gpu one;
        one.name = "NVIDIA of tests";
        one.place = place_on(upstream, package);
        made.gpus.push_back(std::move(one));
      }
      for (int nic = 0; nic < plan.nics; ++nic) {
        topology::nic one;
        one.place = place_on(upstream, package);
        one.ports.push_back({fmt::format("mlx5_{}", made.nics.size()), "ACTIVE", 400, true});
        made.nics.push_back(std::move(one));
      }
    }
  }
  return made;
}

/// `count` NVLinks between two GPUs.
inline void join(topology::machine& machine, int a, int b, int count, double gigabytes = 25) {
  const auto add = [&](int from, int to) {
    machine.gpus[static_cast<std::size_t>(from)].links.push_back(
        {topology::nvlinks::kind::gpu, to, count, gigabytes});
  };
  add(a, b);
  add(b, a);
}

/// A PE on processors, without a GPU, or on one.
inline void add_pe(topology::machine& machine, const std::string& processors, int gpu = -1) {
  topology::pe pe;
  pe.rank = static_cast<int>(machine.pes.size());
  pe.device = gpu < 0 ? "host" : fmt::format("cuda:{}", gpu);
  pe.gpu = gpu;
  pe.processors = processors;
  pe.where = topology::locate(machine, processors);
  machine.pes.push_back(std::move(pe));
}

}  // namespace heddle::testing
