// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "host/transport/verbs/rdma_port.hpp"

namespace heddle::verbs {

/// Where one rail (a port that a PE uses) is reached.
struct rail_address {
  gid value{};
  std::uint64_t network = 0;         ///< network_of
  std::uint32_t datagram_queue = 0;  ///< number of its queue pair for hellos
  std::uint16_t lid = 0;
  std::uint8_t mtu_code = 0;    ///< an ibv_mtu
  std::uint8_t most_reads = 0;  ///< reads and atomics that its card answers at one time
  link_layer link = link_layer::other;
  std::string name;  ///< "mlx5_0:1", of which 15 bytes are kept
};

/// What transport::address() of verbs holds.
struct peer_address {
  std::uint64_t id = 0;         ///< random: which PE it is, whoever numbers them
  std::uint32_t queue_key = 0;  ///< of the datagram queues
  std::vector<rail_address> rails;

  static constexpr std::size_t most_rails = 4;
};

std::vector<std::byte> encode(const peer_address& address);
/// Throws HEDDLE_ERROR_MISMATCH if it is none.
peer_address decode(std::span<const std::byte> bytes);

/// Which rails of two PEs a lane joins: both compute the same, the one with the lower id as
/// `low`. Lanes go round low's rails; on the other side, round those of the same network, else of
/// the same kind. -1, -1: there are none that could reach each other.
struct rail_pair {
  int low = -1;
  int high = -1;
};
rail_pair rails_of(const peer_address& low, const peer_address& high, int lane);

/// "mlx5_0:1, 10.77.0.1; mlx5_1:1, 10.77.0.2".
std::string text_of(const peer_address& address);

}  // namespace heddle::verbs
