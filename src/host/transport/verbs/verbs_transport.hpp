// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "host/transport/gpu_memory.hpp"
#include "host/transport/transport.hpp"

namespace heddle {

struct verbs_options {
  int lanes = 1;
  int local_rank = 0;               ///< among the PEs of this host
  std::string near;                 ///< PCI address of this PE's GPU; empty: its processor
  const gpu_memory* gpu = nullptr;  ///< of region 0; null: the host's. Outlives the transport
  std::string hca;                  ///< HEDDLE_IB_HCA
  int gid_index = -1;               ///< HEDDLE_IB_GID_INDEX
  int timeout = 20;                 ///< HEDDLE_IB_TIMEOUT
  int retry_count = 7;              ///< HEDDLE_IB_RETRY_CNT
  int traffic_class = 0;            ///< HEDDLE_IB_TRAFFIC_CLASS
  int service_level = 0;            ///< HEDDLE_IB_SL
  int most_ports = 4;               ///< that this PE uses
  /// How long a peer that something is to be sent to may take to answer (HEDDLE_TIMEOUT).
  std::chrono::duration<double> connect_timeout = std::chrono::minutes(5);
  /// What the PEs of this job know and nobody else: datagrams without it are dropped.
  std::array<std::byte, 16> job_token{};
};

/// Opens the ports that are chosen for this PE (src/host/transport/verbs/port_choice.hpp). Throws
/// HEDDLE_ERROR_NOT_SUPPORTED, with every port that there is and why it does not do, if none does
/// or heddle was built without rdma-core; HEDDLE_ERROR_OUT_OF_MEMORY or SYSTEM if one cannot be
/// opened.
std::unique_ptr<transport> make_verbs_transport(const verbs_options& options);

}  // namespace heddle
