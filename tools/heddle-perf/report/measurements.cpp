// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "measurements.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace perf::report {

namespace {

/// The machine was as fast before, between and after the two runs of a round.
bool same_state(const curve& ours, const curve& theirs, std::size_t round) {
  std::vector<double> all;
  for (const auto* each : {&ours, &theirs}) {
    if (round >= each->probes.size()) return true;
    all.insert(all.end(), each->probes[round].begin(), each->probes[round].end());
  }
  if (all.empty()) return true;
  const auto [least, most] = std::minmax_element(all.begin(), all.end());
  return *most <= 1.6 * *least;
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::optional<double> time_ratio(const curve& ours, const curve& theirs, std::size_t bytes) {
  const point* mine = ours.at(bytes);
  const point* other = theirs.at(bytes);
  if (!mine || !other) return std::nullopt;
  std::vector<double> all;
  std::vector<double> comparable;
  for (std::size_t i = 0; i < std::min(mine->rounds.size(), other->rounds.size()); ++i) {
    if (mine->rounds[i] <= 0 || other->rounds[i] <= 0) continue;
    all.push_back(mine->rounds[i] / other->rounds[i]);
    if (same_state(ours, theirs, i)) comparable.push_back(all.back());
  }
  if (all.empty()) return std::nullopt;
  return median(2 * comparable.size() < all.size() ? all : comparable);
}

const point* curve::at(std::size_t bytes) const {
  const auto found = std::find_if(points.begin(), points.end(),
                                  [&](const point& each) { return each.bytes == bytes; });
  return found == points.end() ? nullptr : &*found;
}

std::vector<std::size_t> comparison::sizes() const {
  std::set<std::size_t> all;
  for (const auto& each : curves)
    for (const auto& one : each.points) all.insert(one.bytes);
  return {all.begin(), all.end()};
}

bool comparison::has_curves() const {
  const auto all = sizes();
  return all.size() > (!all.empty() && all.front() == 0 ? 2 : 1);
}

std::vector<ratio> comparison::ratios(role theirs) const {
  const auto ours = std::find_if(curves.begin(), curves.end(),
                                 [](const curve& each) { return each.of == role::heddle; });
  if (ours == curves.end()) return {};
  std::vector<ratio> found;
  for (const auto& mine : ours->points) {
    ratio most{mine.bytes, 0, {}};
    for (const auto& each : curves) {
      if (each.of != theirs) continue;
      const auto value = time_ratio(*ours, each, mine.bytes);
      if (value && *value > most.value) most = {mine.bytes, *value, each.name};
    }
    if (!most.against.empty()) found.push_back(most);
  }
  return found;
}

void comparison::sort_curves() {
  std::stable_sort(curves.begin(), curves.end(),
                   [](const curve& a, const curve& b) { return a.of < b.of; });
  for (auto& each : curves)
    std::sort(each.points.begin(), each.points.end(),
              [](const point& a, const point& b) { return a.bytes < b.bytes; });
}

std::optional<ratio_summary> summarize(const std::vector<ratio>& ratios) {
  if (ratios.empty()) return std::nullopt;
  ratio_summary all{0, ratios.front()};
  for (const auto& each : ratios) {
    all.mean += std::log(each.value);
    if (each.value > all.worst.value) all.worst = each;
  }
  all.mean = std::exp(all.mean / static_cast<double>(ratios.size()));
  return all;
}

}  // namespace perf::report
