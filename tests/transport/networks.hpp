// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/transport/transport.hpp"

namespace heddle::conformance {

/// What a network does when a PE is gone that was there.
enum class loss : std::uint8_t {
  told,        ///< who posts to it is told, and the others go on
  told_alone,  ///< who posts to it is told, and a message among the others may be lost
  not_told     ///< nobody notices
};

/// A way to make the transports of one network; each PE of a test makes its own.
struct network {
  std::string name;
  /// `timeout`: how long a peer may take nothing. Throws HEDDLE_ERROR_NOT_SUPPORTED where this
  /// machine does not have the network.
  std::function<std::unique_ptr<transport>(std::chrono::duration<double> timeout)> make;
  conformance::loss loss = conformance::loss::told;
  /// Messages are in order from the first one on, even if that crosses the peer's first.
  bool orders_crossing_contacts = true;
  /// Of a peer that leaves or dies is told, though nothing is posted to it.
  bool tells_of_ends = false;
};

/// Every network that the suite runs on, one ctest test each (CMakeLists.txt).
const std::vector<network>& networks();

/// The one that this run was asked for (--network=NAME).
const network& chosen_network();
/// Of that network, in an unruly_transport if that was asked for (--unruly). `seed` differs by PE.
std::unique_ptr<transport> make_transport(std::uint64_t seed,
                                          std::chrono::duration<double> timeout);

}  // namespace heddle::conformance
