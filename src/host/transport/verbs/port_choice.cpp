// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/transport/verbs/port_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <tuple>

namespace heddle::verbs {
namespace {

/// The part of `text` in front of `separator`, which both are taken off it.
std::string_view take_until(std::string_view& text, char separator) {
  const auto end = std::min(text.find(separator), text.size());
  const auto part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

bool is_named(std::string_view entry, bool exactly, const rdma_port& port) {
  const auto name = take_until(entry, ':');
  if (name.empty()) return false;
  if (exactly ? port.device != name : !port.device.starts_with(name)) return false;
  return entry.empty() || entry == std::to_string(port.port);
}

/// Why a port cannot be used; empty if it can.
std::string obstacle(const rdma_port& port, const port_request& request) {
  if (!admits(request.filter, port))
    return fmt::format("HEDDLE_IB_HCA=\"{}\" leaves it out", request.filter);
  if (!port.problem.empty()) return port.problem;
  if (port.state != "ACTIVE") return fmt::format("its state is {}, not ACTIVE", port.state);
  if (port.chosen_gid < 0) return port.why_gid;
  return {};
}

}  // namespace

bool admits(std::string_view filter, const rdma_port& port) {
  const bool excludes = filter.starts_with('^');
  if (excludes) filter.remove_prefix(1);
  const bool exactly = filter.starts_with('=');
  if (exactly) filter.remove_prefix(1);
  if (filter.empty()) return true;
  bool named = false;
  while (!filter.empty()) named |= is_named(take_until(filter, ','), exactly, port);
  return named != excludes;
}

port_choice choose_ports(std::span<const rdma_port> ports, const port_request& request) {
  port_choice result;
  result.reasons.resize(ports.size());
  double fastest = 0;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    result.reasons[i] = obstacle(ports[i], request);
    if (!result.reasons[i].empty()) continue;
    result.chosen.push_back(i);
    fastest = std::max(fastest, ports[i].gigabits);
  }
  const auto leave_out = [&](auto is_out, const std::string& reason) {
    std::erase_if(result.chosen, [&](std::size_t i) {
      if (!is_out(ports[i])) return false;
      result.reasons[i] = reason;
      return true;
    });
  };
  leave_out([&](const auto& port) { return 2 * port.gigabits < fastest; },
            fmt::format("slow: another has {:g} Gb/s", fastest));
  auto nearest = nic_distance::unknown;
  for (const auto i : result.chosen) nearest = std::min(nearest, ports[i].distance);
  leave_out([&](const auto& port) { return port.distance > nearest; },
            fmt::format("farther: another is {}", text_of(nearest)));
  std::sort(result.chosen.begin(), result.chosen.end(), [&](std::size_t a, std::size_t b) {
    const auto key = [&](std::size_t i) {
      const auto& port = ports[i];
      return std::tuple(-port.gigabits, port.device.size(), std::string_view(port.device),
                        port.port);
    };
    return key(a) < key(b);
  });
  if (result.chosen.empty()) return result;
  std::rotate(result.chosen.begin(),
              result.chosen.begin() + request.local_rank % static_cast<int>(result.chosen.size()),
              result.chosen.end());
  while (result.chosen.size() > static_cast<std::size_t>(request.most)) {
    result.reasons[result.chosen.back()] =
        fmt::format("one PE uses {} ports at most", request.most);
    result.chosen.pop_back();
  }
  for (std::size_t rank = 0; rank < result.chosen.size(); ++rank) {
    const auto& port = ports[result.chosen[rank]];
    result.reasons[result.chosen[rank]] =
        fmt::format("chosen, number {} of {}: {}, {:g} Gb/s", rank + 1, result.chosen.size(),
                    text_of(port.distance), port.gigabits);
  }
  return result;
}

nic_distance distance_between(std::string_view nic_path, int nic_node, std::string_view place_path,
                              int place_node) {
  // /sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0: a root, bridges, the device.
  constexpr std::string_view begin = "/sys/devices/pci";
  if (nic_path.starts_with(begin) && place_path.starts_with(begin)) {
    nic_path.remove_prefix(begin.size());
    place_path.remove_prefix(begin.size());
    if (take_until(nic_path, '/') == take_until(place_path, '/'))
      return take_until(nic_path, '/') == take_until(place_path, '/') ? nic_distance::same_switch
                                                                      : nic_distance::same_root;
  }
  if (nic_node < 0 || place_node < 0) return nic_distance::unknown;
  return nic_node == place_node ? nic_distance::same_numa_node : nic_distance::other_numa_node;
}

}  // namespace heddle::verbs
