// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "host/team_members.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include "host/runtime.hpp"

namespace heddle {

namespace {

std::vector<std::int32_t> slots_of(const heddle_runtime& runtime,
                                   const std::vector<int>& world_pes) {
  std::vector<std::int32_t> slots;
  for (int pe : world_pes) slots.push_back(runtime.slot_of(pe));
  return slots;
}

/// One, if memory joins all.
team_domains domains_of(const heddle_runtime& runtime, const std::vector<int>& world_pes) {
  const auto* network = runtime.network();
  if (!network || network->mapped().map_each_other(world_pes))
    return find_domains(std::vector<int>(world_pes.size()));
  std::map<std::string_view, int> hosts;
  std::vector<int> domain_of;
  std::vector<std::int32_t> positions;
  for (const int pe : world_pes) {
    domain_of.push_back(
        hosts.emplace(runtime.bootstrap().host_of(pe), static_cast<int>(hosts.size()))
            .first->second);
    positions.push_back(network->rings().position(pe));
  }
  auto found = find_domains(domain_of, positions);
  for (int domain = 0; domain < found.n_domains(); ++domain) {
    std::vector<int> members;
    for (const auto pe : found.members(domain))
      members.push_back(world_pes[static_cast<std::size_t>(pe)]);
    found.are_mapped &= network->mapped().map_each_other(std::move(members));
  }
  if (!found.are_mapped) found.count = found.size = 1;
  found.is_apart = network->mapped().are_apart(world_pes);
  return found;
}

}  // namespace

team_members::team_members(heddle_runtime& runtime, std::vector<int> world_pes)
    : world_pes_(std::move(world_pes)),
      slots_(slots_of(runtime, world_pes_)),
      domains_(domains_of(runtime, world_pes_)),
      ring_order_(domains_.pes),
      in_device_(copy_for_kernels(runtime)) {}

int team_members::index_of(int world_pe) const {
  const auto found = std::find(world_pes_.begin(), world_pes_.end(), world_pe);
  return found == world_pes_.end() ? -1 : static_cast<int>(found - world_pes_.begin());
}

int team_members::slot_step() const {
  if (!domains_.all_mapped()) return 0;
  const int step = slots_.size() > 1 ? slots_[1] - slots_[0] : 1;
  for (std::size_t i = 0; i < slots_.size(); ++i)
    if (slots_[i] < 0 || slots_[i] != slots_[0] + static_cast<int>(i) * step) return 0;
  return step;
}

team_members::tables team_members::for_host() const {
  return {slots_.data(), world_pes_.data(), domains_.pes.data()};
}

team_members::tables team_members::for_kernels() const {
  if (!in_device_) return for_host();
  return {in_device_.get(), in_device_.get() + slots_.size(), in_device_.get() + 2 * slots_.size()};
}

team_members::device_table team_members::copy_for_kernels(heddle_runtime& runtime) const {
  const bool in_order = std::is_sorted(domains_.pes.begin(), domains_.pes.end());
  if (runtime.place().is_host() || (slot_step() && in_order)) return nullptr;
  std::vector<std::int32_t> all = slots_;
  all.insert(all.end(), world_pes_.begin(), world_pes_.end());
  all.insert(all.end(), domains_.pes.begin(), domains_.pes.end());
  const std::size_t bytes = all.size() * sizeof all[0];
  device_table copy(static_cast<std::int32_t*>(runtime.device().allocate(bytes)),
                    [&runtime](std::int32_t* table) { free_quietly(runtime.device(), table); });
  runtime.place().copy(copy.get(), all.data(), bytes);
  return copy;
}

}  // namespace heddle
