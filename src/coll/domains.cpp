// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "coll/domains.hpp"

#include <algorithm>
#include <heddle/device/team_memory.hpp>
#include <unordered_map>

namespace heddle {

team_domains find_domains(std::span<const int> domain_of, std::span<const std::int32_t> positions) {
  std::vector<std::vector<std::int32_t>> domains;
  std::unordered_map<int, std::size_t> known;
  for (std::size_t pe = 0; pe < domain_of.size(); ++pe) {
    const auto [place, is_new] = known.emplace(domain_of[pe], domains.size());
    if (is_new) domains.emplace_back();
    domains[place->second].push_back(static_cast<std::int32_t>(pe));
  }
  team_domains found;
  bool all_alike = !domains.empty();
  for (auto& domain : domains) {
    if (!positions.empty())
      std::stable_sort(domain.begin(), domain.end(), [&](std::int32_t a, std::int32_t b) {
        return positions[static_cast<std::size_t>(a)] < positions[static_cast<std::size_t>(b)];
      });
    all_alike &= domain.size() == domains.front().size() &&
                 domain.size() <= static_cast<std::size_t>(barrier_memory::max_direct);
    found.begins.push_back(static_cast<std::int32_t>(found.pes.size()));
    found.pes.insert(found.pes.end(), domain.begin(), domain.end());
  }
  if (all_alike) {
    found.count = static_cast<int>(domains.size());
    found.size = static_cast<int>(domains.front().size());
  }
  return found;
}

}  // namespace heddle
