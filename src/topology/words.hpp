// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "topology/machine.hpp"

/// How the text and the picture call things.
namespace heddle::topology {

/// "2 cores", "1 core".
std::string count_of(int number, const std::string& what);
/// "2 packages, 2 NUMA nodes, 112 cores, 2 TiB, 8 GPUs, 10 NICs": what there is of.
std::string describe_size(const machine& machine);
/// "28 cores, 56 threads, 512 GiB, L3 105 MiB", "96 GiB of memory alone".
std::string describe(const numa_node& node);
/// "2 x L3 32 MiB"; empty if there is none.
std::string describe_caches(const numa_node& node);
/// "18 NVLinks of 26.6 GB/s to NVSwitch 0".
std::string describe(const nvlinks& links);
/// A line for each kind of peer: "18 NVLinks of 26.6 GB/s to 4 NVSwitches".
std::vector<std::string> describe_all(const std::vector<nvlinks>& links);
/// "mlx5_0 ACTIVE 400 Gb/s".
std::string describe(const nic_port& port);
/// "NUMA node 0", "package 1", "no known place".
std::string describe(const machine& machine, const locality& where);
/// Ranks of the PEs on a GPU, "0, 8"; empty if there are none.
std::string pes_on_gpu(const machine& machine, int gpu);
/// Ranks of the PEs that run on processors there; -1: on no one node.
std::string pes_on_node(const machine& machine, int numa_node);

}  // namespace heddle::topology
