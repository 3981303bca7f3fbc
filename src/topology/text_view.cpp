// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>

#include "topology/analysis.hpp"
#include "topology/pci_tree.hpp"
#include "topology/views.hpp"
#include "topology/words.hpp"

namespace heddle::topology {
namespace {

/// The machine as an indented tree.
class tree_writer {
 public:
  explicit tree_writer(const machine& machine) : machine_(machine), roots_(pci_tree(machine)) {}

  std::string write() {
    line(0, fmt::format("{}: {}{}", machine_.name, describe_size(machine_),
                        machine_.source.empty() ? "" : " (read from " + machine_.source + ")"));
    for (std::size_t i = 0; i < machine_.packages.size(); ++i) package(static_cast<int>(i));
    for (std::size_t i = 0; i < machine_.numa_nodes.size(); ++i)
      if (machine_.numa_nodes[i].package < 0) numa_node(1, static_cast<int>(i));
    devices_at(1, {});
    for (std::size_t i = 0; i < machine_.nvswitches.size(); ++i)
      line(1, fmt::format("NVSwitch {}  {}", i, machine_.nvswitches[i].place.address));
    for (const auto& pe : machine_.pes)
      if (pe.gpu < 0 && pe.where.numa_node < 0) line(1, describe(pe));
    return std::move(text_);
  }

 private:
  void line(int depth, const std::string& what) {
    text_ += fmt::format("{:{}}{}\n", "", 2 * depth, what);
  }

  void package(int index) {
    const auto& package = machine_.packages[at(index)];
    line(1, fmt::format("package {}{}{}", package.number, package.model.empty() ? "" : ": ",
                        package.model));
    for (std::size_t i = 0; i < machine_.numa_nodes.size(); ++i)
      if (machine_.numa_nodes[i].package == index) numa_node(2, static_cast<int>(i));
    devices_at(2, {index, -1});
  }

  void numa_node(int depth, int index) {
    const auto& node = machine_.numa_nodes[at(index)];
    line(depth, fmt::format("NUMA node {}: {}", node.number, topology::describe(node)));
    for (const auto& pe : machine_.pes)
      if (pe.gpu < 0 && pe.where.numa_node == index) line(depth + 1, describe(pe));
    devices_at(depth + 1, {node.package, index});
  }

  static std::string describe(const pe& pe) {
    return fmt::format("PE {} on {}, processors {}", pe.rank, pe.device,
                       pe.processors.empty() ? "not known" : pe.processors);
  }

  void devices_at(int depth, const locality& where) {
    for (const auto& root : roots_)
      if (machine_.bridges[at(root.bridge)].where == where) {
        line(depth, fmt::format("PCIe host bridge {}", machine_.bridges[at(root.bridge)].address));
        devices_below(depth + 1, root);
      }
    for (std::size_t i = 0; i < machine_.gpus.size(); ++i)
      if (machine_.gpus[i].place.bridge < 0 && machine_.gpus[i].place.where == where)
        gpu(depth, static_cast<int>(i));
    for (std::size_t i = 0; i < machine_.nics.size(); ++i)
      if (machine_.nics[i].place.bridge < 0 && machine_.nics[i].place.where == where)
        nic(depth, static_cast<int>(i));
  }

  void devices_below(int depth, const pci_node& node) {
    for (const int each : node.gpus) gpu(depth, each);
    for (const int each : node.nics) nic(depth, each);
    for (const auto& each : node.switches) {
      line(depth, fmt::format("PCIe switch {}", machine_.bridges[at(each.bridge)].address));
      devices_below(depth + 1, each);
    }
  }

  static std::string pcie(const pci_place& place) {
    if (place.gigabytes <= 0) return place.address;
    return fmt::format("{}, PCIe {} GB/s", place.address, short_number(place.gigabytes));
  }

  void gpu(int depth, int index) {
    const auto& gpu = machine_.gpus[at(index)];
    const auto pes = pes_on_gpu(machine_, index);
    line(depth, fmt::format("GPU {}  {}  {}{}{}", index, gpu.name, pcie(gpu.place),
                            pes.empty() ? "" : "  PE ", pes));
    for (const auto& links : describe_all(gpu.links)) line(depth + 1, links);
    if (gpu.links_down > 0) line(depth + 1, count_of(gpu.links_down, "NVLink") + " down");
  }

  void nic(int depth, int index) {
    const auto& nic = machine_.nics[at(index)];
    line(depth, fmt::format("NIC {}  {}  {}{}{}", index, nic.name(), pcie(nic.place),
                            nic.model.empty() ? "" : "  ", nic.model));
    for (const auto& port : nic.ports) line(depth + 1, topology::describe(port));
  }

  const machine& machine_;
  const std::vector<pci_node> roots_;
  std::string text_;
};

/// As `nvidia-smi topo -m`, and what its words mean.
std::string matrix(const machine& machine, const analysis& found) {
  std::size_t width = 6;
  for (const auto& name : found.names) width = std::max(width, name.size() + 2);
  std::string text = fmt::format("paths\n  {:<{}}", "", width);
  for (const auto& name : found.names) text += fmt::format("{:<{}}", name, width);
  text += "near\n";
  std::set<path_kind> kinds;
  for (std::size_t from = 0; from < found.names.size(); ++from) {
    text += fmt::format("  {:<{}}", found.names[from], width);
    for (const auto& path : found.paths[from]) {
      text += fmt::format("{:<{}}", path.text(), width);
      kinds.insert(path.kind);
    }
    const auto& end = found.devices[from];
    const auto& place = end.what == endpoint::kind::gpu ? machine.gpus[at(end.index)].place
                                                        : machine.nics[at(end.index)].place;
    text += describe(machine, place.where) + "\n";
  }
  for (const auto kind : kinds)
    text += fmt::format("    {:<5} {}; bandwidth: {}\n", name_of(kind), meaning_of(kind),
                        name_of(bandwidth_of(kind)));
  for (std::size_t i = 0; i < machine.nics.size(); ++i)
    text += fmt::format("    NIC{}  {}\n", i, machine.nics[i].name());
  return text;
}

std::string rails(const machine& machine, const analysis& found) {
  std::string text = "rails (the nearest fast NIC of each)\n";
  for (std::size_t i = 0; i < found.rails.size(); ++i) {
    const auto& rail = found.rails[i];
    text +=
        fmt::format("  {}: {}\n", name_of_member(found, i),
                    rail.nic < 0 ? "no NIC is up"
                                 : fmt::format("NIC {} ({}), {}", rail.nic,
                                               machine.nics[at(rail.nic)].name(), rail.way.text()));
  }
  return text;
}

}  // namespace

std::string to_text(const machine& machine) {
  const auto found = analyse(machine);
  auto text = tree_writer(machine).write();
  if (!found.devices.empty()) text += matrix(machine, found);
  text += describe_ring(found) + "\n";
  if (!found.rails.empty()) text += rails(machine, found);
  if (!machine.notes.empty()) text += "notes\n";
  for (const auto& note : machine.notes) text += "  " + note + "\n";
  // Names come from firmware and files: none of them steers a terminal.
  for (char& each : text)
    if ((each >= 0 && each < ' ' && each != '\n') || each == 0x7f) each = '?';
  return text;
}

}  // namespace heddle::topology
