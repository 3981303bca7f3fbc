// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

/// A team's PEs by domains, whose PEs reach each other by memory: what hierarchical algorithms go
/// by, and the order of rings and trees.
struct team_domains {
  int count = 1;
  int size = 1;                      ///< PEs of each
  std::vector<std::int32_t> pes;     ///< domain by domain, each in the order of the team
  std::vector<std::int32_t> begins;  ///< of each domain, its first place in `pes`
  bool are_mapped = true;            ///< false: there is one whose PEs memory does not join

  [[nodiscard]] bool is_hierarchy() const { return count > 1 && size > 1; }
  /// Whether memory joins all PEs of the team.
  [[nodiscard]] bool all_mapped() const { return are_mapped && begins.size() == 1; }
};

/// `domain_of`: of each member, equal numbers for one domain. No hierarchy, if not all domains have
/// as many PEs, or more than a hierarchical algorithm takes. A pure function.
team_domains find_domains(std::span<const int> domain_of);

}  // namespace heddle
