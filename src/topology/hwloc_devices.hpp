// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <hwloc.h>

#include <string>

#include "topology/machine.hpp"

namespace heddle::topology {

/// Adds the PCIe bridges, GPUs, NVSwitches and NICs that hwloc has found, and the NVLinks where it
/// has them: a file may tell what NVML told where it was written. The packages and the NUMA nodes
/// are there.
void read_hwloc_devices(hwloc_topology_t topology, machine& machine);

/// "0-15,64-79"; hwloc's object.
std::string list_of(hwloc_const_bitmap_t set);

}  // namespace heddle::topology
