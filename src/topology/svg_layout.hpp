// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "topology/machine.hpp"
#include "topology/svg_writer.hpp"

namespace heddle::topology {

/// Where the picture of a machine has what. From above: packages, in them NUMA nodes, in these PCIe
/// host bridges, switches, NICs and, all in one row, GPUs; below the packages there is room for
/// NVLinks.
///
///   +- package -----------------------------+
///   | +- NUMA node ----+ +- NUMA node ----+ |
///   | | [host bridge]  | | [host bridge]  | |
///   | | [switch      ] | | [switch      ] | |
///   | | |-NIC  |-NIC   | | |-NIC  |-NIC   | |
///   | | |-GPU  |-GPU   | | |-GPU  |-GPU   | |
///   | +----------------+ +----------------+ |
///   +---------------------------------------+
struct svg_layout {
  struct area {
    int index = -1;  ///< of the package or the NUMA node; -1: what is near to no one of them
    rect box;
  };
  struct bar {
    int bridge = -1;
    bool is_switch = false;
    rect box;
    double above = 0;  ///< where the line to it begins
  };
  struct device {
    int index = -1;
    rect box;
    double bus = 0;  ///< x of the line that it hangs on
  };
  /// From a bridge down to the devices of a column.
  struct bus {
    double x = 0;
    double top = 0;
    double bottom = 0;
  };

  double width = 0;
  double bottom = 0;       ///< of the packages
  double node_header = 0;  ///< what a NUMA node's own text takes
  std::vector<area> packages;
  std::vector<area> nodes;
  std::vector<bar> bars;
  std::vector<bus> buses;
  std::vector<device> nics;
  std::vector<device> gpus;  ///< from left to right
};

constexpr double margin = 24;
constexpr double top_of_packages = 84;
constexpr double package_header = 32;

svg_layout lay_out(const machine& machine);

}  // namespace heddle::topology
