// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "topology/analysis.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <numeric>

namespace heddle::topology {

analysis analyse(const machine& machine) {
  analysis result;
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    result.devices.push_back(end_of_gpu(static_cast<int>(i)));
    result.names.push_back(fmt::format("GPU{}", i));
  }
  for (std::size_t i = 0; i < machine.nics.size(); ++i) {
    result.devices.push_back(end_of_nic(static_cast<int>(i)));
    result.names.push_back(fmt::format("NIC{}", i));
  }
  for (const auto& from : result.devices) {
    auto& row = result.paths.emplace_back();
    for (const auto& to : result.devices) row.push_back(find_path(machine, from, to));
  }
  result.members_are_pes = machine.pes.size() > 1;
  for (const auto& pe : machine.pes) {
    if (!result.members_are_pes) break;
    result.members.push_back(end_of_pe(pe));
    result.numbers.push_back(pe.rank);
  }
  for (std::size_t i = 0; !result.members_are_pes && i < machine.gpus.size(); ++i) {
    result.members.push_back(end_of_gpu(static_cast<int>(i)));
    result.numbers.push_back(static_cast<int>(i));
  }
  std::vector<int> order(result.members.size());
  std::iota(order.begin(), order.end(), 0);
  result.by_number = ring_of(machine, result.members, std::move(order));
  result.best = best_ring(machine, result.members);
  result.rails = find_rails(machine, result.members);
  return result;
}

std::string name_of_member(const analysis& analysis, std::size_t member) {
  return fmt::format("{} {}", analysis.members_are_pes ? "PE" : "GPU", analysis.numbers[member]);
}

std::string describe_ring(const analysis& analysis) {
  if (analysis.members.empty()) return "no ring: there is no GPU, and no second PE";
  auto text = fmt::format("{} {}", analysis.members_are_pes ? "PE" : "GPU",
                          describe(analysis.best, analysis.numbers));
  if (analysis.best.order == analysis.by_number.order || analysis.best.hops.empty()) return text;
  return fmt::format("{} (instead of {})", text, describe(analysis.by_number, analysis.numbers));
}

}  // namespace heddle::topology
