// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "support/environment.hpp"

namespace heddle {

/// A way to a network that libfabric offers, as heddle-info shows it.
struct fabric_description {
  std::string provider;
  std::string interface;  ///< or the device's name, where there is no interface
  std::string address;
  std::string promises;  ///< what heddle relies on there; empty if it does not do
  std::string verdict;   ///< whether it would be chosen for PEs on several hosts, and why
};

/// What libfabric offers for peers on other hosts, the best first, as `wanted` has it; network
/// cards alone if `cards_only`. Nothing if libfabric is not there. It is loaded for the call: the
/// libraries that it brings along take up to 0.2 s to start.
std::vector<fabric_description> find_fabrics(const environment& wanted, bool cards_only);

}  // namespace heddle
