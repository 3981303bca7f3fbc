// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "host/transport/verbs/peer_address.hpp"
#include "host/transport/verbs/rdma_port.hpp"
#include "host/transport/verbs/verbs_transport.hpp"

namespace heddle::verbs {

/// What ibv_modify_qp is told: `mask` says which of the attributes.
struct queue_pair_step {
  ibv_qp_attr attributes{};
  int mask = 0;
};

/// How packets go from a port of this PE, whose address is `own`, to a peer's: with the service
/// level, and, where they are routed, from the chosen GID with the traffic class.
ibv_ah_attr path_between(const rdma_port& port, const rail_address& own, const rail_address& peer,
                         const verbs_options& options);

// The steps of a reliable queue pair, in this order (InfiniBand specification, volume 1, 10.3.1).

/// Peers may write and read, and, if the card has them, use atomics.
queue_pair_step step_to_init(int port, ibv_atomic_cap atomics);
/// It receives from the peer's queue pair, whose packets count from `first_packet`.
queue_pair_step step_to_receive(const ibv_ah_attr& path, const rail_address& own,
                                const rail_address& peer, std::uint32_t queue,
                                std::uint32_t first_packet);
/// It sends, with the settings of retries, as many reads and atomics at one time as both cards
/// take; this one begins `card_reads` itself.
queue_pair_step step_to_send(const rail_address& peer, std::uint32_t first_packet, int card_reads,
                             const verbs_options& options);

}  // namespace heddle::verbs
