// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "host/transport/gpu_memory.hpp"
#include "host/transport/transport.hpp"

namespace heddle {

namespace libfabric {

/// By what a message comes after the writes that were posted before it, the quickest first.
enum class ordering : std::uint8_t {
  promised,  ///< the order of messages after writes (FI_ORDER_SAW)
  counted,   ///< writes carry numbers, which the receiver counts
  fenced,    ///< writes complete on delivery, and the message waits for that in the NIC (FI_FENCE)
  awaited    ///< the same, and the sender waits
};

}  // namespace libfabric

struct libfabric_options {
  std::string provider;             ///< HEDDLE_FABRIC_PROVIDER; empty: the best that fits
  std::string interfaces;           ///< HEDDLE_SOCKET_IFNAME
  std::string near;                 ///< PCI address of this PE's GPU; empty: its processor
  int local_rank = 0;               ///< among the PEs of this host
  const gpu_memory* gpu = nullptr;  ///< of region 0; null: the host's. Outlives the transport
  bool one_host = false;            ///< all PEs are on this host: loopback will do
  /// Providers that drive a network card: what goes over IP is left out, which heddle's own TCP
  /// does better.
  bool cards_only = false;
  bool ib_disable = false;  ///< HEDDLE_IB_DISABLE: no provider that goes over verbs
  std::string ib_hca;       ///< HEDDLE_IB_HCA, for those that do
  /// How long a peer may take nothing before it counts as lost (HEDDLE_TIMEOUT).
  std::chrono::duration<double> timeout = std::chrono::minutes(5);
  /// Rely on this alone, where the provider promises more: for tests.
  std::optional<libfabric::ordering> ordering;
};

/// Opens the best provider that fits (src/host/transport/libfabric/provider_choice.hpp). All PEs
/// of a job need the same, which the caller compares (about().name). Throws
/// HEDDLE_ERROR_NOT_SUPPORTED, with what there is and why it does not do, if none does or heddle
/// was built without libfabric.
std::unique_ptr<transport> make_libfabric_transport(const libfabric_options& options);

}  // namespace heddle
