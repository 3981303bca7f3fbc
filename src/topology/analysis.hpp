// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "topology/machine.hpp"
#include "topology/path.hpp"
#include "topology/rails.hpp"
#include "topology/ring.hpp"

namespace heddle::topology {

/// What follows from a machine, and all pictures of it show.
struct analysis {
  std::vector<endpoint> devices;         ///< the GPUs, then the NICs
  std::vector<std::string> names;        ///< of these: "GPU0", "NIC0"
  std::vector<std::vector<path>> paths;  ///< from each to each

  bool members_are_pes = false;  ///< of the ring: the PEs if there are several, else the GPUs
  std::vector<endpoint> members;
  std::vector<int> numbers;  ///< of the members: ranks, or of GPUs
  ring best;                 ///< the order heddle would take
  ring by_number;            ///< 0 1 2 ...
  std::vector<rail> rails;   ///< of the members
};
analysis analyse(const machine& machine);

/// "PE 3", "GPU 3".
std::string name_of_member(const analysis& analysis, std::size_t member);

/// "GPU ring 0 1 3 2: crosses SYS twice (instead of ring 0 1 2 3: crosses SYS 4 times)", or why
/// there is none.
std::string describe_ring(const analysis& analysis);

}  // namespace heddle::topology
