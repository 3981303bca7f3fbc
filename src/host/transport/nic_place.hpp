// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace heddle {

/// Where a device of this machine is, or what one is to be near to: a GPU, or no more than a NUMA
/// node.
struct device_place {
  std::string path;    ///< below /sys/devices; empty: no device
  int numa_node = -1;  ///< -1: unknown
};

/// Of the processor that this thread runs on.
device_place place_of_thread();
/// Of the device behind a folder of sysfs, as "class/net/eth0/device". `sysfs`: where that is
/// mounted.
device_place place_of_device(const std::string& folder, const std::string& sysfs = "/sys");
/// Of a PCI device by its address, "0000:3b:00.0".
device_place place_of_pci_device(const std::string& address, const std::string& sysfs = "/sys");
/// What the NICs of a PE are to be near to: its GPU by its PCI address, or, where that is empty,
/// the processor that this thread runs on.
device_place place_of_pe(const std::string& gpu, const std::string& sysfs = "/sys");

/// How far a NIC is from what uses it, nearest first.
enum class nic_distance : std::uint8_t {
  same_switch,
  same_root,
  same_numa_node,
  other_numa_node,
  unknown
};
/// By their paths, else by their NUMA nodes.
nic_distance distance_between(const device_place& nic, const device_place& user);
/// "behind one PCIe switch", ...
const char* text_of(nic_distance distance);

}  // namespace heddle
