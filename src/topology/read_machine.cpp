// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "topology/read_machine.hpp"

#include "topology/device_state.hpp"
#include "topology/nvlinks.hpp"

namespace heddle::topology {

machine read_machine(const std::string& file) {
  bool is_here = false;
  auto result = read_hwloc(file, is_here);
  if (is_here) {
    add_nvlinks(result);
    add_nic_states(result, "/sys/class");
    add_link_speeds(result, "/sys/bus/pci/devices");
  }
  return result;
}

}  // namespace heddle::topology
