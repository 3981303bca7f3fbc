// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/transport/nic_place.hpp"

#include <sched.h>

#include <filesystem>
#include <fstream>
#include <string_view>

#include "support/take_until.hpp"

namespace heddle {

namespace fs = std::filesystem;

device_place place_of_thread() {
  unsigned processor = 0;
  unsigned node = 0;
  device_place result;
  if (::getcpu(&processor, &node) == 0) result.numa_node = static_cast<int>(node);
  return result;
}

device_place place_of_device(const std::string& folder, const std::string& sysfs) {
  std::error_code none;
  device_place result;
  const auto device = fs::canonical(fs::path(sysfs) / folder, none);
  const auto root = none ? fs::path() : fs::canonical(sysfs, none);
  if (none) return result;
  result.path = ("/sys" / device.lexically_relative(root)).string();
  std::ifstream(device / "numa_node") >> result.numa_node;
  return result;
}

device_place place_of_pci_device(const std::string& address, const std::string& sysfs) {
  return place_of_device("bus/pci/devices/" + address, sysfs);
}

device_place place_of_pe(const std::string& gpu, const std::string& sysfs) {
  return gpu.empty() ? place_of_thread() : place_of_pci_device(gpu, sysfs);
}

nic_distance distance_between(const device_place& nic, const device_place& user) {
  // /sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0: a root, bridges, the device.
  constexpr std::string_view begin = "/sys/devices/pci";
  std::string_view nic_path = nic.path;
  std::string_view user_path = user.path;
  if (nic_path.starts_with(begin) && user_path.starts_with(begin)) {
    nic_path.remove_prefix(begin.size());
    user_path.remove_prefix(begin.size());
    if (take_until(nic_path, '/') == take_until(user_path, '/'))
      return take_until(nic_path, '/') == take_until(user_path, '/') ? nic_distance::same_switch
                                                                     : nic_distance::same_root;
  }
  if (nic.numa_node < 0 || user.numa_node < 0) return nic_distance::unknown;
  return nic.numa_node == user.numa_node ? nic_distance::same_numa_node
                                         : nic_distance::other_numa_node;
}

const char* text_of(nic_distance distance) {
  switch (distance) {
    case nic_distance::same_switch:
      return "behind one PCIe switch";
    case nic_distance::same_root:
      return "on one PCIe root";
    case nic_distance::same_numa_node:
      return "on one NUMA node";
    case nic_distance::other_numa_node:
      return "on another NUMA node";
    default:
      return "at an unknown distance";
  }
}

}  // namespace heddle
