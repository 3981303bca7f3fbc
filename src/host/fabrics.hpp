// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace heddle {

/// A way to a network that libfabric offers.
struct fabric_description {
  std::string provider;
  std::string fabric;
  std::string domain;
  bool operator==(const fabric_description&) const = default;
};

/// What libfabric offers for remote peers; nothing is sent through it yet. Nothing if libfabric is
/// not there. It is loaded for the call: the libraries that it brings along take up to 0.2 s to
/// start, which every program would pay.
std::vector<fabric_description> find_fabrics();

}  // namespace heddle
