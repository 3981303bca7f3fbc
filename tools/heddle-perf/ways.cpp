// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "ways.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace perf {

namespace {

/// By heddle_algorithm_t.
constexpr std::array<const char*, 7> algorithms = {"one_shot",  "two_shot",     "ring",  "tree",
                                                   "multicast", "hierarchical", "direct"};
/// By heddle_protocol_t.
constexpr std::array<const char*, 3> protocols = {"simple", "ll", "ll128"};

template <class Value, std::size_t N>
std::optional<Value> find(const std::array<const char*, N>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Value>(found - names.begin());
}

}  // namespace

std::optional<way> parse_way(std::string_view text) {
  const auto colon = text.find(':');
  const auto algorithm = find<heddle_algorithm_t>(algorithms, text.substr(0, colon));
  if (!algorithm) return std::nullopt;
  if (colon == std::string_view::npos) return way{*algorithm, HEDDLE_PROTOCOL_AUTO};
  const auto protocol = find<heddle_protocol_t>(protocols, text.substr(colon + 1));
  if (!protocol) return std::nullopt;
  return way{*algorithm, *protocol};
}

std::string names_of_ways() {
  return fmt::format("one of {}, alone or with :{}", fmt::join(algorithms, ", "),
                     fmt::join(protocols, ", :"));
}

const char* name_of(heddle_algorithm_t algorithm) {
  return algorithms[static_cast<std::size_t>(algorithm)];
}
const char* name_of(heddle_protocol_t protocol) {
  return protocol == HEDDLE_PROTOCOL_AUTO ? "none" : protocols[static_cast<std::size_t>(protocol)];
}

}  // namespace perf
