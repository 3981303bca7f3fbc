// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "host/transport/verbs/port_choice.hpp"
#include "host/transport/verbs/port_list.hpp"
#include "host/transport/verbs/rc_transport.hpp"
#include "support/log.hpp"
#include "support/throw_error.hpp"

namespace heddle {

std::unique_ptr<transport> make_verbs_transport(const verbs_options& options) {
  std::string why_none;
  const auto ports = verbs::list_ports(options.gid_index, place_of_pe(options.near), why_none);
  if (ports.empty())
    throw_error(HEDDLE_ERROR_NOT_SUPPORTED, "asked for the verbs transport: {}", why_none);
  const auto choice = verbs::choose_ports(
      ports, {options.hca, options.local_rank,
              std::min(options.most_ports, static_cast<int>(verbs::peer_address::most_rails))});
  std::string reasons;
  for (std::size_t i = 0; i < ports.size(); ++i)
    reasons += fmt::format("\n  {}: {}", ports[i].name(), choice.reasons[i]);
  if (choice.chosen.empty())
    throw_error(HEDDLE_ERROR_NOT_SUPPORTED,
                "asked for the verbs transport, and no port of this machine's RDMA devices can be "
                "used:{}",
                reasons);
  log::info(log::subsystem::transport, "RDMA ports:{}", reasons);
  std::vector<verbs::rdma_port> chosen;
  for (const auto i : choice.chosen) chosen.push_back(ports[i]);
  return std::make_unique<verbs::rc_transport>(options, chosen);
}

}  // namespace heddle
