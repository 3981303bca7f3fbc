// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "topology/svg_layout.hpp"

#include <algorithm>
#include <cstddef>

#include "topology/pci_tree.hpp"

namespace heddle::topology {
namespace {

constexpr double device_width = 140;
constexpr double stub = 16;  ///< between the line that a device hangs on and its box
constexpr double column = stub + device_width + 8;
constexpr double gap = 12;
constexpr double bar_height = 24;
constexpr double level = bar_height + 16;
constexpr double nic_height = 56;
constexpr double gpu_height = 76;
constexpr double least_node = 214;
constexpr double least_package = 372;
constexpr double between_packages = 40;

/// What is drawn within one NUMA node, or beside all.
struct group {
  int numa_node = -1;
  std::vector<pci_node> roots;
  [[nodiscard]] bool is_empty() const { return numa_node < 0 && roots.empty(); }
};

int columns_of(const pci_node& node) {
  const auto nics = (node.nics.size() + 1) / 2;
  return static_cast<int>(std::max(node.gpus.size(), nics));
}

int nic_rows_of(const pci_node& node) {
  int rows = 0;
  if (const int columns = columns_of(node); columns > 0)
    rows = (static_cast<int>(node.nics.size()) + columns - 1) / columns;
  for (const auto& each : node.switches) rows = std::max(rows, nic_rows_of(each));
  return rows;
}

int depth_of(const pci_node& node) {
  int depth = 0;
  for (const auto& each : node.switches) depth = std::max(depth, 1 + depth_of(each));
  return depth;
}

double width_of(const pci_node& node) {
  double width = columns_of(node) * column;
  for (const auto& each : node.switches) width += (width > 0 ? gap : 0) + width_of(each);
  return width;
}

double width_of(const group& group) {
  double width = 0;
  for (const auto& root : group.roots) width += (width > 0 ? gap : 0) + width_of(root);
  return std::max(least_node, width - (group.roots.empty() ? 0 : 8) + 2 * gap);
}

class builder {
 public:
  explicit builder(const machine& machine) : machine_(machine), roots_(pci_tree(machine)) {}

  svg_layout build() {
    std::vector<std::vector<group>> packages;
    for (std::size_t i = 0; i < machine_.packages.size(); ++i)
      packages.push_back(groups_of(static_cast<int>(i)));
    if (auto apart = groups_of(-1); !apart.empty()) packages.push_back(std::move(apart));
    measure(packages);
    double x = margin;
    for (std::size_t i = 0; i < packages.size(); ++i) {
      const bool is_package = i < machine_.packages.size();
      const double begin = x;
      x += gap;
      double room = -gap;  // of the nodes
      for (const auto& each : packages[i]) room += width_of(each) + gap;
      const double spare = std::max(0.0, least_package - 2 * gap - room);
      for (const auto& each : packages[i]) {
        const double width = width_of(each) + spare / static_cast<double>(packages[i].size());
        place(each, x, width);
        x += width + gap;
      }
      if (packages[i].empty()) x += least_package - gap;
      result_.packages.push_back(
          {is_package ? static_cast<int>(i) : -1,
           {begin, top_of_packages, x - begin, node_bottom_ + gap - top_of_packages}});
      x += between_packages;
    }
    result_.width = std::max(620.0, x - between_packages + margin);
    result_.bottom = node_bottom_ + gap;
    std::sort(result_.gpus.begin(), result_.gpus.end(),
              [](const auto& a, const auto& b) { return a.box.x < b.box.x; });
    return std::move(result_);
  }

 private:
  /// The NUMA nodes of a package, and last what is near to the whole of it.
  std::vector<group> groups_of(int package) {
    std::vector<group> groups;
    for (std::size_t i = 0; i < machine_.numa_nodes.size(); ++i)
      if (machine_.numa_nodes[i].package == package)
        groups.push_back({static_cast<int>(i), devices_at({package, static_cast<int>(i)})});
    group rest{-1, devices_at({package, -1})};
    if (!rest.is_empty()) groups.push_back(std::move(rest));
    return groups;
  }

  std::vector<pci_node> devices_at(const locality& where) {
    std::vector<pci_node> found;
    for (const auto& root : roots_)
      if (machine_.bridges[at(root.bridge)].where == where) found.push_back(root);
    pci_node loose;
    const auto add = [&](const auto& devices, std::vector<int>& list) {
      for (std::size_t i = 0; i < devices.size(); ++i)
        if (devices[i].place.bridge < 0 && devices[i].place.where == where)
          list.push_back(static_cast<int>(i));
    };
    add(machine_.gpus, loose.gpus);
    add(machine_.nics, loose.nics);
    if (columns_of(loose) > 0) found.push_back(std::move(loose));
    return found;
  }

  void measure(const std::vector<std::vector<group>>& packages) {
    int depth = -1;  // without any bridge
    int nic_rows = 0;
    bool has_devices = false;
    for (const auto& groups : packages)
      for (const auto& group : groups)
        for (const auto& root : group.roots) {
          has_devices = true;
          if (root.bridge >= 0) depth = std::max(depth, depth_of(root));
          nic_rows = std::max(nic_rows, nic_rows_of(root));
        }
    const bool has_pes = std::any_of(machine_.pes.begin(), machine_.pes.end(),
                                     [](const auto& pe) { return pe.gpu < 0; });
    result_.node_header = has_pes ? 78 : 62;
    node_top_ = top_of_packages + package_header;
    bars_top_ = node_top_ + result_.node_header + 14;
    devices_top_ = bars_top_ + (depth + 1) * level;
    gpus_top_ = devices_top_ + nic_rows * (nic_height + 10);
    node_bottom_ = !has_devices ? node_top_ + result_.node_header
                                : gpus_top_ + (machine_.gpus.empty() ? 2 : gpu_height + gap);
  }

  void place(const group& group, double x, double width) {
    const double height = group.roots.empty() ? result_.node_header : node_bottom_ - node_top_;
    result_.nodes.push_back({group.numa_node, {x, node_top_, width, height}});
    x += gap;
    for (const auto& root : group.roots) {
      place(root, x, 0, node_top_ + result_.node_header);
      x += width_of(root) + gap;
    }
  }

  void place(const pci_node& node, double x, int depth, double above) {
    const rect bar{x, bars_top_ + depth * level, width_of(node) - 8, bar_height};
    if (node.bridge >= 0)
      result_.bars.push_back(
          {node.bridge, machine_.bridges[at(node.bridge)].parent >= 0, bar, above});
    const int columns = columns_of(node);
    for (int i = 0; i < columns; ++i) {
      const double left = x + i * column;
      svg_layout::bus bus{left + 6, bar.bottom(), 0};
      for (std::size_t n = static_cast<std::size_t>(i), row = 0; n < node.nics.size();
           n += static_cast<std::size_t>(columns), ++row) {
        const rect box{left + stub, devices_top_ + static_cast<double>(row) * (nic_height + 10),
                       device_width, nic_height};
        result_.nics.push_back({node.nics[n], box, bus.x});
        bus.bottom = box.y + box.height / 2;
      }
      if (at(i) < node.gpus.size()) {
        const rect box{left + stub, gpus_top_, device_width, gpu_height};
        result_.gpus.push_back({node.gpus[at(i)], box, bus.x});
        bus.bottom = box.y + box.height / 2;
      }
      if (node.bridge >= 0) result_.buses.push_back(bus);
    }
    x += columns * column;
    for (const auto& each : node.switches) {
      if (x > bar.x) x += gap;
      place(each, x, depth + 1, bar.bottom());
      x += width_of(each);
    }
  }

  const machine& machine_;
  const std::vector<pci_node> roots_;
  svg_layout result_;
  double node_top_ = 0;
  double bars_top_ = 0;
  double devices_top_ = 0;
  double gpus_top_ = 0;
  double node_bottom_ = 0;
};

}  // namespace

svg_layout lay_out(const machine& machine) { return builder(machine).build(); }

}  // namespace heddle::topology
