// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/transport/transport.hpp"
#include "memory_transport.hpp"

namespace heddle::testing {

/// What the PEs of one job use: a transport for each, whose addresses all know.
struct made_network {
  std::shared_ptr<memory_network> memory;  ///< outlives the transports; null: another network
  std::vector<std::unique_ptr<transport>> transports;
  /// PE `of` is told that `pe` is lost; of any thread. Of a network that loses_peers.
  std::function<void(int of, int pe)> lose;
};

/// A network that the suite runs on.
struct network {
  std::string name;
  /// `timeout`: seconds for which a peer may take nothing. Throws HEDDLE_ERROR_NOT_SUPPORTED where
  /// this machine does not have it.
  std::function<made_network(int n_pes, double timeout, std::uint64_t seed)> make;
  bool gives_events = true;  ///< proxies sleep until one
  bool has_gpu = false;      ///< region 0 is taken for a GPU's memory
  /// A put to a place that is not exposed yet waits for it, if it is not small: written by the
  /// network, not told in a record.
  bool waits_for_places = true;
  /// Who reaches for a peer that has gone is told of it, whoever waits for its answer alone, too.
  bool tells_of_loss = false;
  /// Can be made to tell so of a peer that lives.
  bool loses_peers = false;
  /// Seconds after which it tells of a peer that has gone, where it does.
  double tells_loss_in = 1;
};

/// All of them, one ctest test each (CMakeLists.txt).
const std::vector<network>& networks();
/// The one that this run was asked for (--network=NAME).
const network& chosen_network();

}  // namespace heddle::testing
