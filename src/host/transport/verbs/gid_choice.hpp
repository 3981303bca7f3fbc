// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "host/transport/verbs/rdma_port.hpp"

namespace heddle::verbs {

struct gid_choice {
  int index = -1;  ///< of the port's table; -1: none fits
  std::string why;
};

/// Which address of a port is used. On Ethernet RoCE v2 before v1, and of each: an IPv4 address
/// that an interface of this machine has now, an IPv6 address that one has, a link-local one, any
/// other. On InfiniBand the first. `wanted` (HEDDLE_IB_GID_INDEX) is taken if it is there; -1
/// chooses.
gid_choice choose_gid(std::span<const gid_entry> table, link_layer link, int wanted,
                      std::span<const interface_address> addresses);

/// What two ports have in common that reach each other without a router, as 8 bytes; 0: unknown.
std::uint64_t network_of(const gid& value, link_layer link,
                         std::span<const interface_address> addresses);

bool is_ipv4_mapped(const gid& value);
bool is_link_local(const gid& value);

}  // namespace heddle::verbs
