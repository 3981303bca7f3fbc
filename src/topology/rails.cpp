// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "topology/rails.hpp"

#include <algorithm>
#include <cstddef>

namespace heddle::topology {
namespace {

std::vector<int> fast_nics(const machine& machine) {
  std::vector<int> fast;
  bool has_rdma = false;
  double fastest = 0;
  const auto each_up = [&](auto&& visit) {
    for (std::size_t i = 0; i < machine.nics.size(); ++i)
      if (!machine.nics[i].is_down() && !machine.nics[i].ports.empty())
        visit(machine.nics[i], static_cast<int>(i));
  };
  each_up([&](const nic& nic, int) { has_rdma |= nic.has_rdma(); });
  each_up([&](const nic& nic, int) {
    if (nic.has_rdma() == has_rdma) fastest = std::max(fastest, nic.gigabits());
  });
  each_up([&](const nic& nic, int i) {
    const double speed = nic.gigabits();
    if (nic.has_rdma() == has_rdma && (speed == 0 || 2 * speed >= fastest)) fast.push_back(i);
  });
  return fast;
}

}  // namespace

std::vector<rail> find_rails(const machine& machine, std::span<const endpoint> ends) {
  const auto nics = fast_nics(machine);
  std::vector<int> uses(machine.nics.size());
  std::vector<rail> rails;
  for (const auto& end : ends) {
    rail best;
    for (const int nic : nics) {
      const auto way = find_path(machine, end, end_of_nic(nic));
      const bool is_better =
          best.nic < 0 || best.way.is_slower_than(way) ||
          (!way.is_slower_than(best.way) &&
           uses[static_cast<std::size_t>(nic)] < uses[static_cast<std::size_t>(best.nic)]);
      if (is_better) best = {nic, way};
    }
    if (best.nic >= 0) ++uses[static_cast<std::size_t>(best.nic)];
    rails.push_back(best);
  }
  return rails;
}

}  // namespace heddle::topology
