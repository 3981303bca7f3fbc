// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "topology/machine.hpp"

namespace heddle::topology {

/// How two ends reach each other, in the terms of `nvidia-smi topo -m`, the fastest first.
enum class path_kind : std::uint8_t {
  self,     ///< X: the same device, or processors of one NUMA node
  nvlink,   ///< NV#: that many NVLinks, to the other GPU or to switches that both are on
  pix,      ///< one PCIe switch at most
  pxb,      ///< several PCIe switches, and no host bridge
  phb,      ///< a PCIe host bridge, that is the processor
  node,     ///< several host bridges of one NUMA node
  sys,      ///< what joins NUMA nodes
  unknown,  ///< where an end sits is not known
};
constexpr std::size_t path_kinds = 8;

/// What a path's bandwidth is that of.
enum class bandwidth_class : std::uint8_t {
  local,         ///< memory of one device
  nvlink,        ///< each GPU pair's own, or the switch's
  pcie,          ///< each device's own PCIe link: no processor is on the way
  processor,     ///< of the processor's PCIe side, which all devices on it share
  interconnect,  ///< of what joins NUMA nodes or packages, which everything that crosses shares
  unknown,
};

struct path {
  path_kind kind = path_kind::unknown;
  int nvlinks = 0;
  double gigabytes = 0;  ///< a second, each way, of the narrowest link that is known; 0: none is
  bool leaves_package = false;

  [[nodiscard]] bandwidth_class bandwidth() const;
  /// "NV18", "PIX".
  [[nodiscard]] std::string text() const;
  /// Which of two ways is slower, for choices: the kind first, then the links.
  [[nodiscard]] bool is_slower_than(const path& other) const;
};

/// An end of a path.
struct endpoint {
  enum class kind : std::uint8_t { gpu, nic, processor };
  kind what = kind::processor;
  int index = -1;  ///< of the GPU or the NIC
  locality where;  ///< of processors
};
endpoint end_of_gpu(int gpu);
endpoint end_of_nic(int nic);
/// The GPU that it runs on, or its processors.
endpoint end_of_pe(const pe& pe);

path find_path(const machine& machine, const endpoint& from, const endpoint& to);

/// "NV#", "PIX", ...
std::string_view name_of(path_kind kind);
/// In words, for a legend.
std::string_view meaning_of(path_kind kind);
std::string_view name_of(bandwidth_class bandwidth);
/// What the kind's bandwidth is that of.
bandwidth_class bandwidth_of(path_kind kind);

/// "63", "31.5": a bandwidth in few digits.
std::string short_number(double value);

}  // namespace heddle::topology
