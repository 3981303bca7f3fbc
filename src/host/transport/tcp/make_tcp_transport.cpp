// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "bootstrap/network_interface.hpp"
#include "host/transport/tcp/congestion.hpp"
#include "host/transport/tcp/stream_transport.hpp"
#include "support/throw_error.hpp"

namespace heddle {

std::unique_ptr<transport> make_tcp_transport(const tcp_options& options) {
  tcp::check_congestion_control(options.congestion);
  const auto all = list_interfaces();
  const auto& chosen = choose_interface(all, options.interfaces);
  if (chosen.is_loopback && !options.one_host && options.interfaces.empty())
    throw_error(HEDDLE_ERROR_NOT_SUPPORTED,
                "asked for TCP between hosts, and this one has no interface but loopback");
  return std::make_unique<tcp::stream_transport>(options, chosen.name,
                                                 listening_addresses(options.interfaces));
}

}  // namespace heddle
