// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "topology/path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <vector>

#include "topology/pci_tree.hpp"

namespace heddle::topology {
namespace {

const pci_place* place_of(const machine& machine, const endpoint& end) {
  switch (end.what) {
    case endpoint::kind::gpu:
      return &machine.gpus[at(end.index)].place;
    case endpoint::kind::nic:
      return &machine.nics[at(end.index)].place;
    case endpoint::kind::processor:
      break;
  }
  return nullptr;
}

/// Links of two GPUs to each other, else those that both have to switches: a switch joins all.
path nvlink_path(const gpu& from, const gpu& to, int to_index) {
  path direct{.kind = path_kind::nvlink};
  for (const auto& links : from.links)
    if (links.peer == nvlinks::kind::gpu && links.index == to_index) {
      direct.nvlinks += links.count;
      direct.gigabytes += links.count * links.gigabytes;
    }
  if (direct.nvlinks > 0) return direct;
  const auto to_switches = [](const gpu& gpu) {
    path all{.kind = path_kind::nvlink};
    for (const auto& links : gpu.links)
      if (links.peer == nvlinks::kind::nvswitch) {
        all.nvlinks += links.count;
        all.gigabytes += links.count * links.gigabytes;
      }
    return all;
  };
  const auto mine = to_switches(from);
  const auto theirs = to_switches(to);
  return mine.nvlinks <= theirs.nvlinks ? mine : theirs;
}

/// The switches from the device up, the host bridge last.
std::vector<int> way_up(const machine& machine, const std::vector<int>& switch_of, int bridge) {
  std::vector<int> way;
  for (; bridge >= 0; bridge = machine.bridges[at(bridge)].parent)
    if (const int next = switch_of[at(bridge)]; way.empty() || way.back() != next)
      way.push_back(next);
  return way;
}

/// Of two devices below one host bridge; unknown if they are not.
path_kind pci_kind(const machine& machine, const pci_place& from, const pci_place& to) {
  if (from.bridge < 0 || to.bridge < 0) return path_kind::unknown;
  const auto switch_of = find_switches(machine);
  const auto mine = way_up(machine, switch_of, from.bridge);
  const auto theirs = way_up(machine, switch_of, to.bridge);
  const auto common = std::find_first_of(mine.begin(), mine.end(), theirs.begin(), theirs.end());
  if (common == mine.end()) return path_kind::unknown;
  // Functions of one card, which a host bridge's own bus may hold too.
  const bool one_slot =
      from.bridge == to.bridge && from.address.substr(0, from.address.rfind('.')) ==
                                      to.address.substr(0, to.address.rfind('.'));
  if (one_slot) return path_kind::pix;
  if (machine.bridges[at(*common)].parent < 0) return path_kind::phb;
  return *common == mine.front() && *common == theirs.front() ? path_kind::pix : path_kind::pxb;
}

path_kind numa_kind(const machine& machine, const locality& from, const locality& to) {
  if (machine.numa_nodes_with_cores() <= 1) return path_kind::node;
  if (from.numa_node >= 0 && to.numa_node >= 0)
    return from.numa_node == to.numa_node ? path_kind::node : path_kind::sys;
  // Known to be apart, or to be near the whole of a package that has several nodes.
  return from.package >= 0 && to.package >= 0 ? path_kind::sys : path_kind::unknown;
}

double narrowest(const pci_place* from, const pci_place* to) {
  double least = 0;
  for (const auto* place : {from, to})
    if (place && place->gigabytes > 0)
      least = least > 0 ? std::min(least, place->gigabytes) : place->gigabytes;
  return least;
}

}  // namespace

endpoint end_of_gpu(int gpu) { return {.what = endpoint::kind::gpu, .index = gpu, .where = {}}; }
endpoint end_of_nic(int nic) { return {.what = endpoint::kind::nic, .index = nic, .where = {}}; }
endpoint end_of_pe(const pe& pe) {
  if (pe.gpu >= 0) return end_of_gpu(pe.gpu);
  return {.what = endpoint::kind::processor, .index = -1, .where = pe.where};
}

path find_path(const machine& machine, const endpoint& from, const endpoint& to) {
  const auto* mine = place_of(machine, from);
  const auto* theirs = place_of(machine, to);
  if (mine && mine == theirs) return {.kind = path_kind::self};
  if (from.what == endpoint::kind::gpu && to.what == endpoint::kind::gpu) {
    const auto links =
        nvlink_path(machine.gpus[at(from.index)], machine.gpus[at(to.index)], to.index);
    if (links.nvlinks > 0) return links;
  }
  path found{.gigabytes = narrowest(mine, theirs)};
  const auto& here = mine ? mine->where : from.where;
  const auto& there = theirs ? theirs->where : to.where;
  if (mine && theirs) found.kind = pci_kind(machine, *mine, *theirs);
  if (found.kind == path_kind::unknown) found.kind = numa_kind(machine, here, there);
  // Between a device and memory of its processor there is one host bridge.
  if (found.kind == path_kind::node && !mine != !theirs) found.kind = path_kind::phb;
  if (found.kind == path_kind::node && !mine && !theirs) found.kind = path_kind::self;
  found.leaves_package = found.kind == path_kind::sys && here.package != there.package;
  return found;
}

bandwidth_class path::bandwidth() const { return bandwidth_of(kind); }

std::string path::text() const {
  return kind == path_kind::nvlink ? fmt::format("NV{}", nvlinks) : std::string(name_of(kind));
}

bool path::is_slower_than(const path& other) const {
  const auto rank = [](const path& each) {
    return std::tuple(each.kind, each.leaves_package, -each.nvlinks);
  };
  return rank(*this) > rank(other);
}

std::string_view name_of(path_kind kind) {
  constexpr std::array<std::string_view, path_kinds> names = {"X",   "NV#",  "PIX", "PXB",
                                                              "PHB", "NODE", "SYS", "?"};
  return names[static_cast<std::size_t>(kind)];
}

std::string_view meaning_of(path_kind kind) {
  constexpr std::array<std::string_view, path_kinds> meanings = {
      "itself",
      "that many NVLinks, direct or by NVSwitch",
      "one PCIe switch at most",
      "several PCIe switches, and no host bridge",
      "a PCIe host bridge: the processor",
      "several PCIe host bridges of one NUMA node",
      "what joins NUMA nodes",
      "not known"};
  return meanings[static_cast<std::size_t>(kind)];
}

std::string_view name_of(bandwidth_class bandwidth) {
  constexpr std::array<std::string_view, 6> names = {"local",     "nvlink",       "pcie",
                                                     "processor", "interconnect", "unknown"};
  return names[static_cast<std::size_t>(bandwidth)];
}

bandwidth_class bandwidth_of(path_kind kind) {
  switch (kind) {
    case path_kind::self:
      return bandwidth_class::local;
    case path_kind::nvlink:
      return bandwidth_class::nvlink;
    case path_kind::pix:
    case path_kind::pxb:
      return bandwidth_class::pcie;
    case path_kind::phb:
    case path_kind::node:
      return bandwidth_class::processor;
    case path_kind::sys:
      return bandwidth_class::interconnect;
    case path_kind::unknown:
      break;
  }
  return bandwidth_class::unknown;
}

std::string short_number(double value) {
  return value >= 100 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

}  // namespace heddle::topology
