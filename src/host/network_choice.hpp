// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "bootstrap/bootstrap.hpp"
#include "host/pe_device.hpp"
#include "host/transport/transport.hpp"
#include "host/transport/verbs/verbs_transport.hpp"
#include "support/environment.hpp"

namespace heddle {

struct network_choice {
  std::unique_ptr<transport> network;  ///< null if there is none that all PEs have
  std::string reason;                  ///< why none that would be taken before it, or none at all:
                                       ///< the same text on all PEs; "" for the first
  std::string wish;                    ///< who asked for one, and how; "" if nobody did
};

/// Of libfabric: what goes over IP is left to heddle's own TCP, unless it is asked for.
bool wants_cards_only(const environment& settings);
/// What the environment asks of verbs.
verbs_options verbs_wishes(const environment& settings);

/// The network that all PEs of the job use, the same kind on each: the first that every PE has of
/// verbs, libfabric with a network card, and TCP. Collective, also between PEs whose settings
/// differ.
network_choice choose_network(const environment& settings, bootstrap& bootstrap,
                              const pe_device& device, deadline until);

}  // namespace heddle
