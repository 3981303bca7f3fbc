// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/transport/transport.hpp"

namespace heddle::conformance {

/// A way to make the transports of one network; each PE of a test makes its own.
struct network {
  std::string name;
  /// `timeout`: how long a peer may take nothing. Throws HEDDLE_ERROR_NOT_SUPPORTED where this
  /// machine does not have the network.
  std::function<std::unique_ptr<transport>(std::chrono::duration<double> timeout)> make;
  /// A PE that is gone is noticed by who posts to it, before the timeout.
  bool tells_of_loss = true;
};

/// Every network that the suite runs on, one ctest test each (CMakeLists.txt).
const std::vector<network>& networks();

/// The one that this run was asked for (--network=NAME).
const network& chosen_network();
/// Whether what it makes is wrapped in an unruly_transport (--unruly).
bool is_unruly();
/// Of that network, unruly if that was asked for. `seed` differs by PE.
std::unique_ptr<transport> make_transport(std::uint64_t seed,
                                          std::chrono::duration<double> timeout);

}  // namespace heddle::conformance
