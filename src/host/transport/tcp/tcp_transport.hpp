// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "host/transport/transport.hpp"

namespace heddle {

struct tcp_options {
  int lanes = 1;
  std::string interfaces;           ///< HEDDLE_SOCKET_IFNAME
  std::string congestion = "auto";  ///< HEDDLE_TCP_CONGESTION
  bool one_host = false;            ///< all PEs are on this host: loopback will do
  /// How long a peer may take nothing before it counts as lost (HEDDLE_TIMEOUT).
  std::chrono::duration<double> timeout = std::chrono::minutes(5);
  /// What the PEs of a job know and strangers do not.
  std::array<std::byte, 16> job_token{};
};

/// Plain sockets: where there is no card that does better. Throws HEDDLE_ERROR_NOT_SUPPORTED if the
/// only interface is loopback and PEs are on several hosts, HEDDLE_ERROR_INVALID_ARGUMENT if
/// `interfaces` matches none or `congestion` cannot be chosen, HEDDLE_ERROR_SYSTEM if nobody may
/// listen here.
std::unique_ptr<transport> make_tcp_transport(const tcp_options& options);

}  // namespace heddle
