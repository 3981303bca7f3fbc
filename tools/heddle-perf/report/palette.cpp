// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "palette.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace perf::report {

namespace {

using key = std::pair<std::string, role>;

/// With whom each contender shares a drawing, itself included.
std::map<key, std::set<key>> neighbours(const std::vector<section>& sections) {
  std::map<key, std::set<key>> all;
  for (const auto& part : sections)
    for (const auto& group : part.blocks)
      for (const auto& compared : group.comparisons)
        for (const auto& one : compared.curves)
          for (const auto& other : compared.curves)
            all[{one.name, one.of}].insert({other.name, other.of});
  return all;
}

/// The n-th look of those that are neither heddle's nor a limit's: colours first.
look nth(int n, role of) {
  constexpr int colours = palette::n_colours - 2;
  constexpr int markers = palette::n_markers - 1;
  return {2 + n % colours, 1 + (n + n / colours) % markers, of};
}

bool same(const look& a, const look& b) { return a.colour == b.colour && a.marker == b.marker; }

}  // namespace

palette::palette(const std::vector<section>& sections) {
  const auto all = neighbours(sections);
  for (const auto& each : all) {
    const key& who = each.first;
    if (who.second == role::heddle) looks_[who] = {0, 0, role::heddle};
    if (who.second != role::limit) continue;
    const auto before =
        std::count_if(each.second.begin(), each.second.end(),
                      [&](const key& other) { return other.second == role::limit && other < who; });
    looks_[who] = {1, n_markers + static_cast<int>(before) % 2, role::limit};
  }
  // Peers first: they are in most drawings, and get the colours that differ most.
  for (const role of : {role::peer, role::variant})
    for (const auto& part : sections)
      for (const auto& group : part.blocks)
        for (const auto& compared : group.comparisons)
          for (const auto& each : compared.curves)
            if (each.of == of && !looks_.contains({each.name, of}))
              looks_[{each.name, of}] = first_free(all.at({each.name, of}), of);
}

look palette::first_free(const std::set<std::pair<std::string, role>>& beside, role of) const {
  const int most = (n_colours - 2) * (n_markers - 1);
  for (int n = 0; n < most; ++n) {
    const auto taken = std::any_of(beside.begin(), beside.end(), [&](const auto& other) {
      const auto found = looks_.find(other);
      return found != looks_.end() && same(found->second, nth(n, of));
    });
    if (!taken) return nth(n, of);
  }
  return nth(0, of);  // more than anyone can tell apart
}

std::string marker_definitions() {
  constexpr std::array<const char*, palette::n_markers + 2> shapes = {
      "<circle r='4'/>",
      "<path d='M-3.7 -3.7h7.4v7.4h-7.4z'/>",
      "<path d='M0 -4.9L4.5 3.3H-4.5z'/>",
      "<path d='M0 -5L5 0L0 5L-5 0z'/>",
      "<path d='M0 4.9L4.5 -3.3H-4.5z'/>",
      "<path d='M-4 -4.2V4.2L4 -4.2V4.2z'/>",
      "<path d='M-4.2 -4H4.2L-4.2 4H4.2z'/>",
      "<path d='M-3.4 -3.4L3.4 3.4M3.4 -3.4L-3.4 3.4'/>",
      "<path d='M0 -4.4V4.4M-4.4 0H4.4'/>"};
  std::string all;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    all += fmt::format("<g id='m{}'>{}</g>", i, shapes[i]);
  return all;
}

}  // namespace perf::report
