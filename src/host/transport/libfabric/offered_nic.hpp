// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rdma/fabric.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/network_interface.hpp"

/// What an offer of libfabric tells of the NIC behind it, as far as its provider says so.
namespace heddle::libfabric {

/// Empty for null.
std::string_view view(const char* text);

/// "mlx5_0", also where the domain is more than that ("mlx5_0-xrc").
std::string_view device_of(const fi_info& info);
/// Its IP address, if it has one.
std::optional<socket_address> address_of(const fi_info& info);
/// "192.0.2.2", without a port.
std::string numbers_of(const socket_address& address);
/// That of its name or address; null if there is none.
const network_interface* interface_of(const fi_info& info,
                                      const std::vector<network_interface>& all);
/// Its folder below `sysfs`: "bus/pci/devices/0000:3b:00.0", "class/net/eth0/device".
std::string card_folder(const fi_info& info, const std::string& interface,
                        const std::string& sysfs = "/sys");
/// A second; 0: not known.
double gigabits_of(const fi_info& info);
/// Whether who reaches one of them may be taken to reach the other: one fabric, and, of IP
/// addresses, one subnet.
bool share_network(const fi_info& a, const fi_info& b, const std::vector<network_interface>& all);

}  // namespace heddle::libfabric
