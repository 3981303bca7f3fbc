// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/transport/nic_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <tuple>

namespace heddle {

nic_choice choose_nics(std::span<const nic_offer> offers, int local_rank, std::size_t most) {
  nic_choice result;
  auto& chosen = result.chosen;
  result.reasons.resize(offers.size());
  chosen.resize(offers.size());
  std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  const auto leave_out = [&](auto is_out, const std::string& reason) {
    std::erase_if(chosen, [&](std::size_t i) {
      if (!is_out(offers[i])) return false;
      result.reasons[i] = reason;
      return true;
    });
  };
  double fastest = 0;
  for (const auto& offer : offers) fastest = std::max(fastest, offer.gigabits);
  leave_out([&](const auto& offer) { return 2 * offer.gigabits < fastest; },
            fmt::format("slow: another has {:g} Gb/s", fastest));
  auto nearest = nic_distance::unknown;
  for (const auto i : chosen) nearest = std::min(nearest, offers[i].distance);
  leave_out([&](const auto& offer) { return offer.distance > nearest; },
            fmt::format("farther: another is {}", text_of(nearest)));
  std::sort(chosen.begin(), chosen.end(), [&](std::size_t a, std::size_t b) {
    const auto key = [&](std::size_t i) {
      const auto& offer = offers[i];
      return std::tuple(-offer.gigabits, offer.device.size(), std::string_view(offer.device),
                        offer.port);
    };
    return key(a) < key(b);
  });
  if (chosen.empty()) return result;
  std::rotate(chosen.begin(), chosen.begin() + local_rank % static_cast<int>(chosen.size()),
              chosen.end());
  while (chosen.size() > most) {
    result.reasons[chosen.back()] = fmt::format("one PE uses {} ports at most", most);
    chosen.pop_back();
  }
  for (std::size_t rank = 0; rank < chosen.size(); ++rank) {
    const auto& offer = offers[chosen[rank]];
    result.reasons[chosen[rank]] = fmt::format(
        "number {} of {}: {}{}", rank + 1, chosen.size(), text_of(offer.distance),
        offer.gigabits > 0 ? fmt::format(", {:g} Gb/s", offer.gigabits) : std::string());
  }
  return result;
}

}  // namespace heddle
