// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "topology/device_state.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace heddle::topology {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& file) {
  std::string line;
  std::getline(std::ifstream(file) >> std::ws, line);
  return line;
}

void read_interface(const fs::path& folder, nic_port& port) {
  port.state = first_line(folder / "operstate");
  double megabits = 0;
  // -1, or an error, where the driver does not know it.
  if (std::ifstream(folder / "speed") >> megabits && megabits > 0) port.gigabits = megabits / 1000;
}

/// "4: ACTIVE", and "100 Gb/sec (4X EDR)".
void read_rdma_port(const fs::path& folder, nic_port& port) {
  const auto state = first_line(folder / "state");
  port.state = state.substr(std::min(state.size(), state.find_first_not_of("0123456789: ")));
  std::ifstream(folder / "rate") >> port.gigabits;
}

/// GB/s, of "16.0 GT/s PCIe" and "16": without what the encoding takes, up to 5 GT/s 8 of 10 bits.
double link_speed(const fs::path& device) {
  double transfers = 0;
  int lanes = 0;
  std::ifstream(device / "current_link_speed") >> transfers;
  std::ifstream(device / "current_link_width") >> lanes;
  return transfers * lanes / 8 * (transfers > 5 ? 128.0 / 130 : 0.8);
}

}  // namespace

void add_link_speeds(machine& machine, const std::string& folder) {
  const auto add = [&](pci_place& place) {
    if (place.gigabytes <= 0) place.gigabytes = link_speed(fs::path(folder) / place.address);
  };
  for (auto& gpu : machine.gpus) add(gpu.place);
  for (auto& nic : machine.nics) add(nic.place);
}

void add_nic_states(machine& machine, const std::string& folder) {
  std::error_code ignored;
  for (auto& nic : machine.nics) {
    std::vector<nic_port> all;
    for (auto& port : nic.ports) {
      const auto ports = fs::path(folder) / "infiniband" / port.name / "ports";
      if (!port.is_rdma) read_interface(fs::path(folder) / "net" / port.name, port);
      if (port.is_rdma) read_rdma_port(ports / "1", port);
      all.push_back(port);
      for (int number = 2; port.is_rdma && fs::exists(ports / std::to_string(number), ignored);
           ++number) {
        auto& other = all.emplace_back();
        other.name = port.name + ":" + std::to_string(number);
        other.is_rdma = true;
        read_rdma_port(ports / std::to_string(number), other);
      }
    }
    nic.ports = std::move(all);
  }
}

}  // namespace heddle::topology
