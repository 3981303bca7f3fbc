// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "topology/ring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

namespace heddle::topology {
namespace {

using cost = std::uint64_t;
using costs = std::vector<std::vector<cost>>;

/// What is one stop: ends on one device, or on processors of one place, are neighbours anyway.
struct stop {
  endpoint end;
  std::vector<int> members;
};

bool is_same_place(const endpoint& a, const endpoint& b) {
  return a.what == b.what && a.index == b.index &&
         (a.what != endpoint::kind::processor || a.where == b.where);
}

std::vector<stop> find_stops(std::span<const endpoint> ends) {
  std::vector<stop> stops;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    auto found = std::find_if(stops.begin(), stops.end(),
                              [&](const auto& each) { return is_same_place(each.end, ends[i]); });
    if (found == stops.end()) found = stops.insert(stops.end(), {ends[i], {}});
    found->members.push_back(static_cast<int>(i));
  }
  return stops;
}

/// A hop of a slower path costs more than a whole ring of faster ones.
costs find_costs(const machine& machine, const std::vector<stop>& stops) {
  const auto n = stops.size();
  std::vector<std::vector<path>> paths(n, std::vector<path>(n));
  std::vector<path> levels;  // one of each speed, the fastest first
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < n; ++b)
      if (a != b) levels.push_back(paths[a][b] = find_path(machine, stops[a].end, stops[b].end));
  std::sort(levels.begin(), levels.end(),
            [](const auto& a, const auto& b) { return b.is_slower_than(a); });
  const auto same = [](const auto& a, const auto& b) {
    return !a.is_slower_than(b) && !b.is_slower_than(a);
  };
  levels.erase(std::unique(levels.begin(), levels.end(), same), levels.end());
  // Among many speeds the fastest ones are taken together, so that costs stay in 64 bits.
  const auto base = static_cast<cost>(n) + 1;
  std::vector<cost> of_level(levels.size(), 1);
  std::size_t most = 1;
  for (cost room = std::numeric_limits<cost>::max() / (base * base); room > base; room /= base)
    ++most;
  for (std::size_t i = 1; i < levels.size(); ++i)
    of_level[i] = levels.size() - i < most ? of_level[i - 1] * base : of_level[i - 1];
  costs result(n, std::vector<cost>(n, 0));
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < n; ++b) {
      if (a == b) continue;
      std::size_t level = 0;
      while (!same(levels[level], paths[a][b])) ++level;
      result[a][b] = of_level[level];
    }
  return result;
}

/// Held and Karp: what is left to pay, from `last`, for the stops that are not in `visited`. From
/// the end on, so that the way is read from its beginning, and of equal ones the first is taken.
std::vector<int> exact_order(const costs& costs) {
  const auto n = costs.size();
  const std::size_t all = (std::size_t{1} << n) - 1;
  std::vector<cost> left((all + 1) * n, std::numeric_limits<cost>::max());
  for (std::size_t last = 0; last < n; ++last) left[all * n + last] = costs[last][0];
  const auto price = [&](std::size_t visited, std::size_t last, std::size_t next) {
    return costs[last][next] + left[(visited | std::size_t{1} << next) * n + next];
  };
  for (std::size_t visited = all; visited-- > 1;)
    for (std::size_t last = 0; last < n; ++last) {
      if ((visited >> last & 1) == 0) continue;
      auto& best = left[visited * n + last];
      for (std::size_t next = 0; next < n; ++next)
        if ((visited >> next & 1) == 0) best = std::min(best, price(visited, last, next));
    }
  std::vector<int> order = {0};
  for (std::size_t visited = 1, last = 0; visited != all;) {
    std::size_t chosen = 0;
    for (std::size_t next = n; next-- > 1;)
      if ((visited >> next & 1) == 0 && price(visited, last, next) == left[visited * n + last])
        chosen = next;
    order.push_back(static_cast<int>(chosen));
    visited |= std::size_t{1} << chosen;
    last = chosen;
  }
  return order;
}

/// What is near each other in the machine's tree, near each other.
std::vector<int> tree_order(const machine& machine, const std::vector<stop>& stops) {
  const auto key = [&](int i) {
    const auto& end = stops[at(i)].end;
    std::string address;
    locality where = end.where;
    std::vector<int> bridges;
    if (end.what != endpoint::kind::processor) {
      const auto& place = end.what == endpoint::kind::gpu ? machine.gpus[at(end.index)].place
                                                          : machine.nics[at(end.index)].place;
      where = place.where;
      address = place.address;
      for (int bridge = place.bridge; bridge >= 0; bridge = machine.bridges[at(bridge)].parent)
        bridges.insert(bridges.begin(), bridge);
    }
    return std::tuple(where.package, where.numa_node, bridges, address, i);
  };
  std::vector<int> order(stops.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) { return key(a) < key(b); });
  return order;
}

/// 2-opt: turns a part of the ring round as long as that makes it cheaper.
void exchange(const costs& costs, std::vector<int>& order) {
  const auto n = order.size();
  const auto hop = [&](std::size_t i, std::size_t j) {
    return costs[at(order[i % n])][at(order[j % n])];
  };
  for (bool better = true; better;) {
    better = false;
    for (std::size_t i = 0; i + 2 < n; ++i)
      for (std::size_t j = i + 2; j < n; ++j) {
        if (i == 0 && j == n - 1) continue;
        if (hop(i, j) + hop(i + 1, j + 1) >= hop(i, i + 1) + hop(j, j + 1)) continue;
        std::reverse(order.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                     order.begin() + static_cast<std::ptrdiff_t>(j) + 1);
        better = true;
      }
  }
  std::rotate(order.begin(), std::find(order.begin(), order.end(), 0), order.end());
}

}  // namespace

ring ring_of(const machine& machine, std::span<const endpoint> ends, std::vector<int> order) {
  ring result;
  const auto n = order.size();
  for (std::size_t i = 0; n > 1 && i < n; ++i) {
    result.hops.push_back(find_path(machine, ends[at(order[i])], ends[at(order[(i + 1) % n])]));
    ++result.count[static_cast<std::size_t>(result.hops.back().kind)];
  }
  result.order = std::move(order);
  return result;
}

ring best_ring(const machine& machine, std::span<const endpoint> ends) {
  const auto stops = find_stops(ends);
  std::vector<int> order;
  if (stops.size() < 4) {  // all rings are one
    order.resize(stops.size());
    std::iota(order.begin(), order.end(), 0);
  } else {
    const auto costs = find_costs(machine, stops);
    if (stops.size() <= exact_places) {
      order = exact_order(costs);
    } else {
      order = tree_order(machine, stops);
      exchange(costs, order);
    }
  }
  std::vector<int> members;
  for (const int stop : order)
    members.insert(members.end(), stops[at(stop)].members.begin(), stops[at(stop)].members.end());
  return ring_of(machine, ends, std::move(members));
}

std::vector<int> best_chain(const machine& machine, std::span<const endpoint> ends) {
  auto [order, hops, count] = best_ring(machine, ends);
  if (hops.empty()) return order;
  auto cut = hops.size() - 1;
  for (std::size_t i = 0; i < hops.size(); ++i)
    if (hops[i].is_slower_than(hops[cut])) cut = i;
  std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>((cut + 1) % order.size()),
              order.end());
  return order;
}

std::string times(int count) {
  if (count == 1) return "once";
  return count == 2 ? "twice" : fmt::format("{} times", count);
}

std::string describe(const ring& ring, std::span<const int> numbers) {
  std::string text = "ring";
  for (const int i : ring.order) text += fmt::format(" {}", numbers[at(i)]);
  std::string uses;
  std::string crosses;
  std::vector<std::pair<std::string, int>> found;
  for (const auto& hop : ring.hops) {
    const auto name = hop.kind == path_kind::self ? "local" : hop.text();
    auto same = std::find_if(found.begin(), found.end(),
                             [&](const auto& each) { return each.first == name; });
    if (same == found.end()) same = found.insert(found.end(), {name, 0});
    ++same->second;
  }
  for (const auto& [name, count] : found) {
    const bool is_slow = name == "SYS" || name == "NODE" || name == "PHB";
    auto& list = is_slow ? crosses : uses;
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", name, times(count));
  }
  if (!crosses.empty()) crosses = "crosses " + crosses;
  if (uses.empty() && crosses.empty()) return text;
  return fmt::format("{}: {}{}{}", text, uses, uses.empty() || crosses.empty() ? "" : ", ",
                     crosses);
}

}  // namespace heddle::topology
