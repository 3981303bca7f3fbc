// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/transport/verbs/rdma_port.hpp"

namespace heddle::verbs {

/// Whether HEDDLE_IB_HCA (`filter`) admits a port of a device:
///   "mlx5,rxe"     devices whose name begins with one of these;  "=mlx5_0,mlx5_1"  exactly these;
///   "mlx5_0:1"     this port of them alone;                      "^mlx5_4"         all but these;
///   "^=mlx5_4:1"   all but exactly this port;                    ""                all.
bool admits(std::string_view filter, std::string_view device, int port);

struct port_request {
  std::string filter;  ///< HEDDLE_IB_HCA
  int local_rank = 0;  ///< among the PEs of this host
  int most = 4;        ///< ports that one PE uses
};

struct port_choice {
  std::vector<std::size_t> chosen;   ///< indices of the ports, the first to use first
  std::vector<std::string> reasons;  ///< one for each port
};

/// Which ports a PE uses, and why: of those that are active, have an address and are admitted, as
/// choose_nics does.
port_choice choose_ports(std::span<const rdma_port> ports, const port_request& request);

}  // namespace heddle::verbs
