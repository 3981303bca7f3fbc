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
  for (std::size_t i = 0; i < domains.begins.size(); ++i) {
    const auto begin = domains.pes.begin() + domains.begins[i];
    const auto end = i + 1 < domains.begins.size() ? domains.pes.begin() + domains.begins[i + 1]
                                                   : domains.pes.end();
    all.emplace_back(begin, end);
  }
  if (all.size() == 1 || one_by_one) {
    std::vector<pe_list> alone;
    for (const int pe : domains.pes) alone.push_back({pe});
    all = std::move(alone);
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
  domain_places places{.count = static_cast<int>(domains.begins.size())};
  const auto n_pes = static_cast<int>(domains.pes.size());
  for (int domain = 0; domain < places.count; ++domain) {
    const int begin = domains.begins[domain];
    const int end = domain + 1 < places.count ? domains.begins[domain + 1] : n_pes;
    places.begins[domain] = static_cast<std::int8_t>(begin);
    places.begins[domain + 1] = static_cast<std::int8_t>(end);
    for (int i = begin; i < end; ++i) {
      const int pe = domains.pes[i];
      places.pes[i] = static_cast<std::int8_t>(pe);
      places.domain[pe] = static_cast<std::int8_t>(domain);
      places.in_domain[pe] = static_cast<std::int8_t>(i - begin);
    }
  }
  return places;
}

}  // namespace heddle
