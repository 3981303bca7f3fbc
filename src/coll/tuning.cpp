// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "coll/tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>

#include "coll/cost_model.hpp"
#include "support/throw_error.hpp"

namespace heddle {

namespace {

constexpr int most_pes = 64;

struct way {
  std::string_view name;
  way_cost tuning::*cost;
  algorithm algo;       ///< direct: a piece of what combines nothing
  bool remote = false;  ///< of what combines
};
constexpr std::array<way, 17> ways = {{
    {"one_shot_ll", &tuning::one_shot_ll, algorithm::one_shot},
    {"one_shot_ll128", &tuning::one_shot_ll128, algorithm::one_shot},
    {"one_shot", &tuning::one_shot, algorithm::one_shot},
    {"two_shot", &tuning::two_shot, algorithm::two_shot},
    {"link_ll", &tuning::link_ll, algorithm::ring},
    {"link_ll128", &tuning::link_ll128, algorithm::ring},
    {"link", &tuning::link, algorithm::ring},
    {"network_one_shot", &tuning::network_one_shot, algorithm::one_shot, true},
    {"network_link", &tuning::network_link, algorithm::ring, true},
    {"words", &tuning::words, algorithm::direct},
    {"slots", &tuning::slots, algorithm::direct},
    {"direct", &tuning::direct, algorithm::direct},
    {"rooted_words", &tuning::rooted_words, algorithm::direct},
    {"rooted_slots", &tuning::rooted_slots, algorithm::direct},
    {"rooted_direct", &tuning::rooted_direct, algorithm::direct},
    {"network_slots", &tuning::network_slots, algorithm::direct},
    {"network_direct", &tuning::network_direct, algorithm::direct},
}};

route route_of(const way& each, int n_pes) {
  if (each.algo == algorithm::direct) {
    const double pieces = n_pes - 1;
    return {pieces, pieces};
  }
  return route_of(collective::all_reduce, each.algo, n_pes, each.remote);
}

}  // namespace

tuning where_crowded(const tuning& costs, double pes_per_processor) {
  tuning result = costs;
  for (const auto& each : ways) {
    if (costs.*each.cost != host_tuning.*each.cost) continue;
    way_cost& cost = result.*each.cost = crowded_host_tuning.*each.cost;
    // In each of its hops every PE has its turn.
    if (is_direct(each.algo) && !each.remote)
      cost.hop_ns *= pes_per_processor / crowded_pes_per_processor;
  }
  return result;
}

tuning read_tuning(std::string_view text, const std::string& name, const tuning& base) {
  const auto wrong = [&](const std::string& what) {
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "HEDDLE_TUNING={}: {}; `heddle-perf tune` writes such a profile", name, what);
  };
  const auto profile = nlohmann::json::parse(text, nullptr, false);
  if (profile.is_discarded() || !profile.is_object()) wrong("this is not JSON, or no object");
  if (profile.value("format", nlohmann::json()) != "heddle-tuning-2")
    wrong("its \"format\" is not \"heddle-tuning-2\"");
  const auto pes = profile.value("n_pes", nlohmann::json());
  if (!pes.is_number_unsigned() || pes.get<std::uint64_t>() < 2 ||
      pes.get<std::uint64_t>() > most_pes)
    wrong(fmt::format("its \"n_pes\" is not a number from 2 to {}", most_pes));
  const auto found = profile.find("ways");
  if (found == profile.end() || !found->is_object()) wrong("it has no object \"ways\"");
  tuning result = base;
  for (const auto& entry : found->items()) {
    const auto& key = entry.key();
    const auto& value = entry.value();
    const auto* known =
        std::find_if(ways.begin(), ways.end(), [&](const way& each) { return each.name == key; });
    if (known == ways.end()) wrong(fmt::format("\"{}\" is not a way that heddle has", key));
    const auto number = [&](const char* field) {
      const auto it = value.is_object() ? value.find(field) : value.end();
      if (it == value.end() || !it->is_number() || !(it->template get<double>() >= 0))
        wrong(fmt::format("\"{}\" is {}; its \"{}\" must be a number, 0 or more", key, value.dump(),
                          field));
      return it->template get<double>();
    };
    const route by = route_of(*known, pes.get<int>());
    result.*known->cost = {number("fixed_ns") / by.hops, number("ns_per_kib") / by.bytes};
  }
  return result;
}

tuning read_tuning_file(const std::string& path, const tuning& base) {
  // A profile is a few KiB. A pipe may be waited for without end, a device has none.
  constexpr std::uintmax_t longest = std::uintmax_t{1} << 20;
  if (path.empty()) return base;
  const auto cannot_be_read = [&](const std::string& why) {
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "HEDDLE_TUNING={}: it cannot be read ({}); name a file that heddle-perf tune wrote",
                path, why);
  };
  std::error_code unknown;
  const auto status = std::filesystem::status(path, unknown);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    cannot_be_read("it is a folder, pipe or device, not a regular file");
  std::ifstream file(path);
  if (!file)
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT, "HEDDLE_TUNING={}: there is no such file to read",
                path);
  if (const auto size = std::filesystem::file_size(path, unknown); !unknown && size > longest)
    cannot_be_read(fmt::format("it has {} bytes, a profile at most {}", size, longest));
  std::string text;
  try {
    text.assign(std::istreambuf_iterator<char>(file), {});
  } catch (const std::ios_base::failure& failed) {
    cannot_be_read(failed.what());
  }
  return read_tuning(text, path, base);
}

std::vector<std::pair<std::string_view, way_cost>> entries(const tuning& costs, int n_pes) {
  std::vector<std::pair<std::string_view, way_cost>> result;
  for (const auto& each : ways) {
    const route by = route_of(each, std::max(n_pes, 2));
    result.emplace_back(each.name, (costs.*each.cost).times(by.hops, by.bytes));
  }
  return result;
}

}  // namespace heddle
