// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "host/transport/verbs/rdma_port.hpp"

namespace heddle::verbs {

/// Every port of every NIC of this machine, in the library's order, with the address that it would
/// be used by (choose_gid). A device that cannot be opened is one port with that problem. Nothing
/// if libibverbs or its headers are not there: `why_none` says so.
std::vector<rdma_port> list_ports(int wanted_gid, const device_place& near, std::string& why_none);

/// The addresses of this machine's interfaces that are up.
std::vector<interface_address> list_interface_addresses();

}  // namespace heddle::verbs
