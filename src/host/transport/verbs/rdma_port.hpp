// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "host/transport/nic_place.hpp"

namespace heddle::verbs {

/// An RDMA address of 16 bytes, in network order: an IPv6 address, or an IPv4 address in the form
/// ::ffff:a.b.c.d; on InfiniBand the subnet's prefix and the port's number.
using gid = std::array<std::uint8_t, 16>;

enum class gid_kind : std::uint8_t { infiniband, roce_v1, roce_v2 };
enum class link_layer : std::uint8_t { infiniband, ethernet, other };

/// One entry of a port's table of addresses.
struct gid_entry {
  int index = 0;
  gid value{};
  gid_kind kind = gid_kind::infiniband;
  std::string interface;  ///< the network interface behind it; empty on InfiniBand
};

/// An address of a network interface, in the form of a gid.
struct interface_address {
  std::string interface;
  gid value{};
  int prefix_bits = 128;  ///< of the 128
};

/// A port of a NIC of this machine, as far as anybody needs to know who does not open it.
struct rdma_port {
  std::string device;  ///< "mlx5_0"
  int port = 1;
  std::string state;    ///< "ACTIVE", "DOWN", ...
  std::string problem;  ///< why it cannot be used whatever is asked for; empty if it can
  link_layer link = link_layer::other;
  double gigabits = 0;  ///< per second
  int mtu = 0;          ///< bytes
  std::uint16_t lid = 0;
  nic_distance distance = nic_distance::unknown;
  std::vector<gid_entry> gids;
  int chosen_gid = -1;  ///< index of the table; -1: none fits
  std::string why_gid;

  [[nodiscard]] std::string name() const { return device + ":" + std::to_string(port); }
};

/// "10.77.0.1" or "fe80::1".
std::string text_of(const gid& value);
const char* text_of(gid_kind kind);
const char* text_of(link_layer link);

}  // namespace heddle::verbs
