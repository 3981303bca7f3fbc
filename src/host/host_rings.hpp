// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "host/pe_place.hpp"

namespace heddle {

/// In which order rings and trees go through the PEs of each host: along its slow paths as seldom
/// as can be (topology/ring.hpp), as the first PE of the host finds it and all PEs of the job know.
class host_rings {
 public:
  /// In the order of their numbers.
  host_rings() = default;
  /// Collective. `places`: of all PEs. The machine is read on hosts where it can matter: of three
  /// PEs or more that do not all have one place.
  static host_rings agree(bootstrap& bootstrap, std::span<const pe_place> places, deadline until);

  /// The PEs of one host are in the order of this.
  [[nodiscard]] std::int32_t position(int pe) const {
    return positions_.empty() ? pe : positions_[static_cast<std::size_t>(pe)];
  }

 private:
  std::vector<std::int32_t> positions_;  ///< empty: the PEs
};

/// The PEs of a machine in that order: their numbers. A pure function.
std::vector<std::int32_t> chain_of_pes(const topology::machine& machine);

}  // namespace heddle
