// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/transport/verbs/port_choice.hpp"

#include <fmt/format.h>

#include <utility>

#include "host/transport/nic_choice.hpp"
#include "support/take_until.hpp"

namespace heddle::verbs {
namespace {

bool is_named(std::string_view entry, bool exactly, std::string_view device, int port) {
  const auto name = take_until(entry, ':');
  if (name.empty()) return false;
  if (exactly ? device != name : !device.starts_with(name)) return false;
  return entry.empty() || entry == std::to_string(port);
}

/// Why a port cannot be used; empty if it can.
std::string obstacle(const rdma_port& port, const port_request& request) {
  if (!admits(request.filter, port.device, port.port))
    return fmt::format("HEDDLE_IB_HCA=\"{}\" leaves it out", request.filter);
  if (!port.problem.empty()) return port.problem;
  if (port.state != "ACTIVE") return fmt::format("its state is {}, not ACTIVE", port.state);
  if (port.chosen_gid < 0) return port.why_gid;
  return {};
}

}  // namespace

bool admits(std::string_view filter, std::string_view device, int port) {
  const bool excludes = filter.starts_with('^');
  if (excludes) filter.remove_prefix(1);
  const bool exactly = filter.starts_with('=');
  if (exactly) filter.remove_prefix(1);
  if (filter.empty()) return true;
  bool named = false;
  while (!filter.empty()) named |= is_named(take_until(filter, ','), exactly, device, port);
  return named != excludes;
}

port_choice choose_ports(std::span<const rdma_port> ports, const port_request& request) {
  port_choice result;
  result.reasons.resize(ports.size());
  std::vector<std::size_t> usable;
  std::vector<nic_offer> offers;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const auto& port = ports[i];
    result.reasons[i] = obstacle(port, request);
    if (!result.reasons[i].empty()) continue;
    usable.push_back(i);
    offers.push_back({port.device, port.port, port.gigabits, port.distance});
  }
  auto choice = choose_nics(offers, request.local_rank, static_cast<std::size_t>(request.most));
  for (std::size_t i = 0; i < usable.size(); ++i)
    result.reasons[usable[i]] = std::move(choice.reasons[i]);
  for (const auto i : choice.chosen) {
    result.chosen.push_back(usable[i]);
    result.reasons[usable[i]].insert(0, "chosen, ");
  }
  return result;
}

}  // namespace heddle::verbs
