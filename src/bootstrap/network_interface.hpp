// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/socket_address.hpp"

namespace heddle {

/// An interface of this machine that is up, with its addresses.
struct network_interface {
  std::string name;
  bool is_loopback = false;
  std::vector<socket_address> addresses;  ///< port 0; link-local ones left out
  std::vector<int> prefix_bits = {};      ///< of each address: what its subnet has in common
};

/// What a subnet has in common, by its mask; -1: it has none.
int prefix_bits_of(const sockaddr* mask);

/// In the kernel's order.
std::vector<network_interface> list_interfaces();

/// Chooses by the value of HEDDLE_SOCKET_IFNAME:
///   "eth,ib"   interfaces whose name begins with one of these;  "=eth0,eth1"  exactly these names;
///   "^docker"  those that begin with none of these;             "^=eth0"      all but these names;
///   ""         the first that is neither loopback nor a container bridge (docker*), else such a
///              bridge, else loopback.
/// Throws HEDDLE_ERROR_INVALID_ARGUMENT, naming what there is, if none matches.
const network_interface& choose_interface(const std::vector<network_interface>& all,
                                          std::string_view wanted);

/// The addresses to listen on: of the chosen interface, one IPv4 and one IPv6 at most.
std::vector<socket_address> listening_addresses(std::string_view wanted);

}  // namespace heddle
