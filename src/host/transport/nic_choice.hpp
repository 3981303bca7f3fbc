// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "host/transport/nic_place.hpp"

namespace heddle {

/// A NIC, or a port of one, that a PE could use.
struct nic_offer {
  std::string device;  ///< "mlx5_0"
  int port = 1;
  double gigabits = 0;  ///< per second; 0: unknown
  nic_distance distance = nic_distance::unknown;
};

struct nic_choice {
  std::vector<std::size_t> chosen;   ///< indices of the offers, the first to use first
  std::vector<std::string> reasons;  ///< one for each offer; of chosen ones "number 1 of 2: ..."
};

/// Which NICs a PE uses, `most` at most, and why: the fast ones (half of the fastest's speed and
/// more), and of these the nearest. PEs of one host begin at different ones: `local_rank` is this
/// PE's number among them.
nic_choice choose_nics(std::span<const nic_offer> offers, int local_rank, std::size_t most);

}  // namespace heddle
