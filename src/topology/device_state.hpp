// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "topology/machine.hpp"

namespace heddle::topology {

/// Fills in the state and the speed of the ports of this machine's NICs, as the kernel tells them
/// below `folder` ("/sys/class"), and adds the further ports of RDMA devices.
void add_nic_states(machine& machine, const std::string& folder);

/// Fills in the bandwidth of PCIe links that hwloc has not told, which it does for root alone: as
/// they are now (an idle GPU may run its link slowly), below `folder` ("/sys/bus/pci/devices").
void add_link_speeds(machine& machine, const std::string& folder);

}  // namespace heddle::topology
