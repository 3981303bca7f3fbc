// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "topology/words.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <map>

#include "support/environment.hpp"
#include "topology/path.hpp"

namespace heddle::topology {
namespace {

template <class Predicate>
std::string list_pes(const machine& machine, Predicate&& belongs) {
  std::string list;
  for (const auto& pe : machine.pes)
    if (belongs(pe)) list += fmt::format("{}{}", list.empty() ? "" : ", ", pe.rank);
  return list;
}

}  // namespace

std::string count_of(int number, const std::string& what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : what.ends_with("ch") ? "es" : "s");
}

std::string describe_size(const machine& machine) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  const auto add_count = [&](std::size_t count, const char* what) {
    if (count > 0) add(count_of(static_cast<int>(count), what));
  };
  add_count(machine.packages.size(), "package");
  add_count(machine.numa_nodes.size(), "NUMA node");
  add_count(static_cast<std::size_t>(machine.cores()), "core");
  if (machine.memory_bytes() > 0) add(format_bytes(machine.memory_bytes()));
  add_count(machine.gpus.size(), "GPU");
  add_count(machine.nics.size(), "NIC");
  add_count(machine.pes.size(), "PE");
  return text.empty() ? "nothing is known of it" : text;
}

std::string describe_caches(const numa_node& node) {
  if (node.caches == 0) return {};
  const auto one = fmt::format("L{} {}", node.cache_level, format_bytes(node.cache_bytes));
  return node.caches == 1 ? one : fmt::format("{} x {}", node.caches, one);
}

std::string describe(const numa_node& node) {
  if (node.cores == 0) return format_bytes(node.memory_bytes) + " of memory alone";
  auto text = count_of(node.cores, "core");
  if (node.threads > node.cores) text += ", " + count_of(node.threads, "thread");
  text += ", " + format_bytes(node.memory_bytes);
  if (const auto caches = describe_caches(node); !caches.empty()) text += ", " + caches;
  return text;
}

std::string describe(const nvlinks& links) {
  auto text = count_of(links.count, "NVLink");
  if (links.gigabytes > 0) text += fmt::format(" of {} GB/s", short_number(links.gigabytes));
  switch (links.peer) {
    case nvlinks::kind::gpu:
      return text + fmt::format(" to GPU {}", links.index);
    case nvlinks::kind::nvswitch:
      return text + fmt::format(" to NVSwitch {}", links.index);
    case nvlinks::kind::other:
      break;
  }
  return text + " to something else";
}

std::vector<std::string> describe_all(const std::vector<nvlinks>& links) {
  std::vector<std::string> lines;
  std::map<double, nvlinks> to_switches;  // by speed
  std::map<double, int> switches;
  for (const auto& each : links) {
    if (each.peer != nvlinks::kind::nvswitch) {
      lines.push_back(describe(each));
      continue;
    }
    auto& sum = to_switches[each.gigabytes];
    const int count = sum.count + each.count;
    sum = each;
    sum.count = count;
    ++switches[each.gigabytes];
  }
  for (const auto& [speed, sum] : to_switches) {
    auto line = describe(sum);
    if (switches[speed] > 1)
      line = fmt::format("{}to {}", line.substr(0, line.find("to NVSwitch")),
                         count_of(switches[speed], "NVSwitch"));
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string describe(const nic_port& port) {
  auto text = port.name;
  if (!port.state.empty()) text += " " + port.state;
  if (port.gigabits > 0) text += fmt::format(" {} Gb/s", short_number(port.gigabits));
  return text;
}

std::string describe(const machine& machine, const locality& where) {
  if (where.numa_node >= 0)
    return fmt::format("NUMA node {}",
                       machine.numa_nodes[static_cast<std::size_t>(where.numa_node)].number);
  if (where.package >= 0)
    return fmt::format("package {}",
                       machine.packages[static_cast<std::size_t>(where.package)].number);
  return "no known place";
}

std::string pes_on_gpu(const machine& machine, int gpu) {
  return list_pes(machine, [&](const pe& pe) { return pe.gpu == gpu; });
}

std::string pes_on_node(const machine& machine, int numa_node) {
  return list_pes(machine,
                  [&](const pe& pe) { return pe.gpu < 0 && pe.where.numa_node == numa_node; });
}

}  // namespace heddle::topology
