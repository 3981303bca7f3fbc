// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rdma/fabric.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bootstrap/network_interface.hpp"
#include "host/transport/libfabric/libfabric_transport.hpp"
#include "host/transport/nic_place.hpp"

namespace heddle::libfabric {

/// Ends at this host. Processes lock each other's queues: one that is killed meanwhile leaves
/// others waiting within libfabric, without end.
inline constexpr std::string_view shm_provider = "shm";

/// What a network is wanted for.
struct provider_wish {
  /// HEDDLE_FABRIC_PROVIDER: a provider's name ("net", "tcp;ofi_rxm"), or what is below it ("tcp",
  /// "verbs"); empty: the best that fits.
  std::string provider;
  /// HEDDLE_SOCKET_IFNAME, for the providers that go over IP.
  std::string interfaces;
  /// All PEs are on this host: loopback will do.
  bool one_host = false;
  /// What goes over IP does not do.
  bool cards_only = false;
  /// HEDDLE_IB_DISABLE, and HEDDLE_IB_HCA (verbs::admits), for the providers that drive what verbs
  /// do.
  bool ib_disable = false;
  std::string ib_hca;
  /// Of this machine.
  std::vector<network_interface> there;
  /// What the NIC of a network card is to be near to.
  device_place near = {};
  /// Among the PEs of this host, which spread over NICs that are as near.
  int local_rank = 0;
  /// Where the kernel tells of its devices.
  std::string sysfs = "/sys";
  /// Connections of ofi_rxm over verbs share their receive buffers (FI_OFI_RXM_USE_SRX).
  bool shares_receives = asks_to_share_receives();

  /// As this process's environment has it.
  static bool asks_to_share_receives();
};

/// One provider on one interface, and why it is taken or not.
struct provider_candidate {
  const fi_info* info = nullptr;
  std::string provider;
  std::string interface;  ///< or the device's name, where there is no interface
  std::string address;    ///< of this host there; empty where it is not an IP address
  bool fits = false;
  std::string reason;
};

/// The candidates among `offered`, the best first: those that fit by preference (network cards
/// before TCP before UDP), then those that do not. Of the offers of one provider on one interface
/// and address the first that fits counts. Where the first has a network card, its PEs take the one
/// that choose_nics does of those in the same network: peers reach it as they would the first.
std::vector<provider_candidate> rank_providers(std::span<const fi_info* const> offered,
                                               const provider_wish& wish);

/// Whether `wanted`, as HEDDLE_FABRIC_PROVIDER gives it, is that provider.
bool is_named(std::string_view provider, std::string_view wanted);

/// One line for each of them.
std::string describe(std::span<const provider_candidate> candidates);

/// The quickest that the provider granted; nothing if messages may overtake each other.
std::optional<ordering> ordering_of(const fi_info& info);

/// Whether the provider has atomics, and they work.
bool has_sound_atomics(const fi_info& info);

/// How many operations may be under way to one peer: less than its queue takes where more would
/// drown the receiver, and where those to a peer that is gone stay in the queue, in the way of the
/// others.
std::size_t most_to_one_peer(const fi_info& info);

}  // namespace heddle::libfabric
