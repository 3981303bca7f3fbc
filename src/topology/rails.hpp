// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "topology/machine.hpp"
#include "topology/path.hpp"

namespace heddle::topology {

/// The NIC that an end would use for other hosts.
struct rail {
  int nic = -1;  ///< -1: no NIC is up
  path way;
};

/// Of each end: as verbs' choose_ports does, of the NICs that are up the fast ones (half of the
/// fastest's speed and more; those with RDMA, if there are any), of these the nearest, of these one
/// that the fewest ends before it have.
std::vector<rail> find_rails(const machine& machine, std::span<const endpoint> ends);

}  // namespace heddle::topology
