// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace heddle {

/// A team's PEs by domains, whose PEs reach each other by memory: what hierarchical algorithms go
/// by, and the order of rings and trees.
struct team_domains {
  int count = 1;
  int size = 1;                      ///< PEs of each
  std::vector<std::int32_t> pes;     ///< domain by domain
  std::vector<std::int32_t> begins;  ///< of each domain, its first place in `pes`
  bool are_mapped = true;            ///< false: there is one whose PEs memory does not join
  bool is_apart = false;             ///< memory joins no two PEs

  /// How many there are, of equal size or not.
  [[nodiscard]] int n_domains() const { return static_cast<int>(begins.size()); }
  /// PEs of the one that has the most.
  [[nodiscard]] int largest() const {
    std::size_t most = 0;
    for (int domain = 0; domain < n_domains(); ++domain)
      most = std::max(most, members(domain).size());
    return static_cast<int>(most);
  }
  /// The PEs of one of them, in its order.
  [[nodiscard]] std::span<const std::int32_t> members(int domain) const {
    const auto next = static_cast<std::size_t>(domain) + 1;
    const auto begin = static_cast<std::size_t>(begins[next - 1]);
    const auto end = next < begins.size() ? static_cast<std::size_t>(begins[next]) : pes.size();
    return std::span(pes).subspan(begin, end - begin);
  }
  [[nodiscard]] bool is_hierarchy() const { return count > 1 && size > 1; }
  /// Whether memory joins all PEs of the team.
  [[nodiscard]] bool all_mapped() const { return are_mapped && n_domains() == 1; }
};

/// `domain_of`: of each member, equal numbers for one domain, which are in the order of their first
/// members. `positions`: of each member, what the PEs of its domain are in the order of; empty: in
/// the order of the team. No hierarchy, if not all domains have as many PEs, or more than a
/// hierarchical algorithm takes. A pure function.
team_domains find_domains(std::span<const int> domain_of,
                          std::span<const std::int32_t> positions = {});

}  // namespace heddle
