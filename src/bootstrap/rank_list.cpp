// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/rank_list.hpp"

#include <fmt/format.h>

namespace heddle {

std::string format_ranks(std::span<const int> ranks, int most) {
  std::string text;
  std::size_t i = 0;
  for (int runs = 0; i < ranks.size(); ++runs) {
    if (runs == most) return fmt::format("{} and {} more", text, ranks.size() - i);
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (!text.empty()) text += ", ";
    text += fmt::format("{}", ranks[i]);
    if (end - i == 2) text += fmt::format(", {}", ranks[i + 1]);
    if (end - i > 2) text += fmt::format("-{}", ranks[end - 1]);
    i = end;
  }
  return text;
}

std::string name_ranks(std::span<const int> ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", format_ranks(ranks));
}

}  // namespace heddle
