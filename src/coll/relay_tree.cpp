// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "coll/relay_tree.hpp"

#include <algorithm>
#include <iterator>

namespace heddle {

namespace {

using pe_list = std::vector<int>;

/// The domains in the order in which they are entered; of each, who enters it first.
std::vector<pe_list> entered_from(const team_domains& domains, int root, bool one_by_one) {
  std::vector<pe_list> all;
  if (domains.n_domains() == 1 || one_by_one) {
    for (const int pe : domains.pes) all.push_back({pe});
  } else {
    for (int i = 0; i < domains.n_domains(); ++i) {
      const auto members = domains.members(i);
      all.emplace_back(members.begin(), members.end());
    }
  }
  std::ptrdiff_t place = 0;
  const auto first = std::find_if(all.begin(), all.end(), [&](const pe_list& domain) {
    const auto found = std::find(domain.begin(), domain.end(), root);
    place = std::distance(domain.begin(), found);
    return found != domain.end();
  });
  std::rotate(all.begin(), first, all.end());
  for (auto& domain : all)
    std::rotate(domain.begin(), domain.begin() + place % static_cast<std::ptrdiff_t>(domain.size()),
                domain.end());
  return all;
}

}  // namespace

relay_place relay_place_of(algorithm shape, const team_domains& domains, int pe, int root) {
  const auto entered = entered_from(domains, root, shape != algorithm::ring && !domains.are_mapped);
  if (shape == algorithm::ring) {
    pe_list chain;
    for (const auto& domain : entered) chain.insert(chain.end(), domain.begin(), domain.end());
    const auto here = std::find(chain.begin(), chain.end(), pe);
    relay_place place;
    if (here != chain.begin()) place.parent = *std::prev(here);
    if (std::next(here) != chain.end()) place.children = {*std::next(here)};
    return place;
  }

  std::size_t mine = 0;
  while (std::find(entered[mine].begin(), entered[mine].end(), pe) == entered[mine].end()) ++mine;
  const pe_list& domain = entered[mine];
  if (pe != domain.front()) return {.parent = domain.front(), .children = {}};
  relay_place place;
  if (mine > 0) place.parent = entered[shape == algorithm::tree ? (mine - 1) / 2 : 0].front();
  const auto is_below = [&](std::size_t other) {
    return shape == algorithm::tree ? (other - 1) / 2 == mine : mine == 0;
  };
  for (std::size_t other = 1; other < entered.size(); ++other)
    if (is_below(other)) place.children.push_back(entered[other].front());
  place.children.insert(place.children.end(), std::next(domain.begin()), domain.end());
  return place;
}

domain_places places_by(const team_domains& domains) {
  domain_places places{.count = domains.n_domains(), .largest = domains.largest()};
  std::int8_t place = 0;
  for (int domain = 0; domain < places.count; ++domain) {
    places.begins[domain] = place;
    for (const int pe : domains.members(domain)) {
      places.pes[place] = static_cast<std::int8_t>(pe);
      places.domain[pe] = static_cast<std::int8_t>(domain);
      places.in_domain[pe] = static_cast<std::int8_t>(place - places.begins[domain]);
      ++place;
    }
    places.begins[domain + 1] = place;
  }
  return places;
}

}  // namespace heddle
