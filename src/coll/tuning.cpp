// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "coll/tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "support/throw_error.hpp"

namespace heddle {

namespace {

struct limit {
  std::string_view name;
  std::size_t tuning::*value;
};
constexpr std::array<limit, 11> limits = {{{"one_shot_ll", &tuning::one_shot_ll},
                                           {"one_shot_ll128", &tuning::one_shot_ll128},
                                           {"one_shot", &tuning::one_shot},
                                           {"network_one_shot", &tuning::network_one_shot},
                                           {"tree", &tuning::tree},
                                           {"link_ll", &tuning::link_ll},
                                           {"link_ll128", &tuning::link_ll128},
                                           {"words", &tuning::words},
                                           {"slots", &tuning::slots},
                                           {"rooted_slots", &tuning::rooted_slots},
                                           {"network_slots", &tuning::network_slots}}};

}  // namespace

tuning read_tuning(std::string_view text, const std::string& name, const tuning& base) {
  const auto wrong = [&](const std::string& what) {
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "HEDDLE_TUNING={}: {}; `heddle-perf tune` writes such a profile", name, what);
  };
  const auto profile = nlohmann::json::parse(text, nullptr, false);
  if (profile.is_discarded() || !profile.is_object()) wrong("this is not JSON, or no object");
  if (profile.value("format", nlohmann::json()) != "heddle-tuning-1")
    wrong("its \"format\" is not \"heddle-tuning-1\"");
  const auto found = profile.find("limits");
  if (found == profile.end() || !found->is_object()) wrong("it has no object \"limits\"");
  tuning result = base;
  for (const auto& [key, value] : found->items()) {
    const auto* known = std::find_if(limits.begin(), limits.end(),
                                     [&](const limit& each) { return each.name == key; });
    if (known == limits.end()) wrong(fmt::format("\"{}\" is not a limit that heddle has", key));
    if (!value.is_number_unsigned())
      wrong(fmt::format("\"{}\" is {}; it must be a number of bytes", key, value.dump()));
    result.*known->value = value.get<std::size_t>();
  }
  return result;
}

tuning read_tuning_file(const std::string& path, const tuning& base) {
  if (path.empty()) return base;
  std::ifstream file(path);
  if (!file)
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT, "HEDDLE_TUNING={}: there is no such file to read",
                path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return read_tuning(text, path, base);
}

std::vector<std::pair<std::string_view, std::size_t>> entries(const tuning& all) {
  std::vector<std::pair<std::string_view, std::size_t>> result;
  for (const auto& each : limits) result.emplace_back(each.name, all.*each.value);
  return result;
}

}  // namespace heddle
