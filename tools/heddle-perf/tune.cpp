// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "device_buffer.hpp"
#include "forced_way.hpp"
#include "json_text.hpp"
#include "session.hpp"
#include "whole_file.hpp"

namespace perf {

namespace {

using nlohmann::ordered_json;

/// One that plans choose by size from those of its group.
struct candidate {
  const char* name;  ///< in profiles
  heddle_collective_t what;
  way to;
  std::size_t largest;  ///< size to measure: of the combination, or of a piece
};
struct group {
  const char* name;
  std::vector<candidate> ways;
};

/// What can be told apart here.
std::vector<group> groups_here(bool on_host, bool has_network) {
  constexpr auto all_reduce = HEDDLE_COLLECTIVE_ALL_REDUCE;
  constexpr auto all_gather = HEDDLE_COLLECTIVE_ALL_GATHER;
  constexpr auto broadcast = HEDDLE_COLLECTIVE_BROADCAST;
  constexpr auto one_shot = HEDDLE_ALGORITHM_ONE_SHOT;
  constexpr auto two_shot = HEDDLE_ALGORITHM_TWO_SHOT;
  constexpr auto ring = HEDDLE_ALGORITHM_RING;
  constexpr auto direct = HEDDLE_ALGORITHM_DIRECT;
  constexpr auto simple = HEDDLE_PROTOCOL_SIMPLE;
  constexpr auto ll = HEDDLE_PROTOCOL_LL;
  constexpr auto ll128 = HEDDLE_PROTOCOL_LL128;
  constexpr std::size_t k = 1024;
  if (has_network)
    return {{"all_reduce",
             {{"network_one_shot", all_reduce, {one_shot, simple}, 16 * k},
              {"network_link", all_reduce, {ring, simple}, 256 * k}}},
            {"pieces",
             {{"network_slots", all_gather, {one_shot, simple}, 256 * k},
              {"network_direct", all_gather, {direct, simple}, 1024 * k}}}};
  const std::size_t more = on_host ? 1 : 64;  // a GPU's ways part later
  std::vector<group> all = {{"all_reduce",
                             {{"one_shot_ll", all_reduce, {one_shot, ll}, k * more},
                              {"one_shot", all_reduce, {one_shot, simple}, 8 * k * more},
                              {"two_shot", all_reduce, {two_shot, simple}, 16 * k * more}}},
                            {"links",
                             {{"link_ll", all_reduce, {ring, ll}, 4 * k * more},
                              {"link", all_reduce, {ring, simple}, 16 * k * more}}},
                            {"pieces",
                             {{"words", all_gather, {one_shot, ll}, k * more},
                              {"slots", all_gather, {one_shot, simple}, 4 * k * more},
                              {"direct", all_gather, {direct, simple}, 8 * k * more}}},
                            {"pieces of one PE",
                             {{"rooted_words", broadcast, {one_shot, ll}, k * more},
                              {"rooted_slots", broadcast, {one_shot, simple}, 8 * k * more},
                              {"rooted_direct", broadcast, {direct, simple}, 8 * k * more}}}};
  if (!on_host) {  // where lines arrive whole, and PEs have links at all
    all[0].ways.push_back({"one_shot_ll128", all_reduce, {one_shot, ll128}, 8 * k * more});
    all[1].ways.push_back({"link_ll128", all_reduce, {ring, ll128}, 8 * k * more});
  }
  return all;
}

struct point {
  std::size_t bytes;
  double us;
};

/// So much for any size, and so much for a KiB.
struct line {
  double fixed_ns;
  double ns_per_kib;
  [[nodiscard]] double at(std::size_t bytes) const {
    return fixed_ns + ns_per_kib * static_cast<double>(bytes) / 1024;
  }
};

/// That from which the points differ least, by their ratios; neither part is below 0.
line fit(const std::vector<point>& points) {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const auto& each : points) {
    const double ns = each.us * 1000;
    const double kib = static_cast<double>(each.bytes) / 1024;
    const double weight = 1 / (ns * ns);
    n += weight;
    x += weight * kib;
    y += weight * ns;
    xx += weight * kib * kib;
    xy += weight * kib * ns;
  }
  const double spread = n * xx - x * x;
  line best{(y * xx - x * xy) / spread, (n * xy - x * y) / spread};
  if (best.ns_per_kib < 0) best = {y / n, 0};
  if (best.fixed_ns < 0) best = {0, xy / xx};
  return best;
}

using lines = std::map<std::string, line>;

/// "words up to 64, slots up to 512, direct": which is quickest.
std::string choices(const group& all, const lines& costs) {
  std::string text;
  const candidate* chosen = nullptr;
  constexpr std::size_t most = std::size_t{1} << 30;
  for (std::size_t bytes = 8; bytes <= most; bytes *= 2) {
    const auto* best = &all.ways.front();
    for (const candidate& each : all.ways)
      if (costs.at(each.name).at(bytes) < costs.at(best->name).at(bytes)) best = &each;
    if (chosen && best != chosen) text += fmt::format("{} up to {}, ", chosen->name, bytes / 2);
    chosen = best;
  }
  return text + chosen->name;
}

class tuner {
 public:
  explicit tuner(const session& with)
      : with_(with),
        n_pes_(static_cast<std::size_t>(with.world.n_pes())),
        input_(with, (std::size_t{16} << 20) + 16),
        output_(with, (std::size_t{16} << 20) * n_pes_ + 16) {}

  /// Whether the way is there, as plans tell.
  [[nodiscard]] bool has(const candidate& wanted) const try {
    if (wanted.what != HEDDLE_COLLECTIVE_ALL_REDUCE) return true;
    const forced_way forced(with_.world, wanted.to, true);
    return with_.world.plan(wanted.what, 2, HEDDLE_FLOAT32)
        .starts_with(
            fmt::format("{} {}", name_of(wanted.to.algorithm), name_of(wanted.to.protocol)));
  } catch (const heddle::error&) {
    return false;
  }

  [[nodiscard]] std::vector<point> measure(const candidate& wanted) {
    std::vector<point> points;
    const forced_way forced(with_.world, wanted.to, wanted.what == HEDDLE_COLLECTIVE_ALL_REDUCE);
    for (std::size_t bytes = 8; bytes <= wanted.largest; bytes *= 2)
      points.push_back({bytes, time(wanted.what, bytes)});
    return points;
  }

 private:
  double time(heddle_collective_t what, std::size_t bytes) {
    auto* in = input_.as<float>();
    auto* out = output_.as<float>();
    const std::size_t count = bytes / sizeof(float);
    const auto run = [&](int calls) {
      for (int i = 0; i < calls; ++i) {
        if (what == HEDDLE_COLLECTIVE_ALL_REDUCE)
          with_.world.all_reduce(in, out, count, heddle::op::sum, with_.queue);
        else if (what == HEDDLE_COLLECTIVE_ALL_GATHER)
          with_.world.all_gather(in, out, count, with_.queue);
        else
          with_.world.broadcast(in, out, count, 0, with_.queue);
      }
    };
    return with_.time_back_to_back(run).time_us;
  }

  const session& with_;
  std::size_t n_pes_;
  device_buffer input_;
  device_buffer output_;
};

/// The costs as this job has them.
lines costs_now(const heddle::runtime& runtime) {
  char* text = nullptr;
  heddle::detail::check(heddle_info_json(runtime.handle(), &text));
  const auto all = ordered_json::parse(text);
  heddle_string_free(text);
  lines costs;
  for (const auto& [name, cost] : all["job"]["tuning"].items())
    costs[name] = {cost["fixed_ns"].get<double>(), cost["ns_per_kib"].get<double>()};
  return costs;
}

}  // namespace

void tune(const session& with) {
  const bool speaks = with.world.my_pe() == 0;
  const auto n_pes = static_cast<std::size_t>(with.world.n_pes());
  if (n_pes < 2 || n_pes > 64)
    throw std::runtime_error(
        fmt::format("tune is for 2 to 64 PEs, which this job has not: {}", n_pes));
  // Before minutes of measuring, not after.
  if (speaks) check_writable(with.chosen.profile);
  const auto before = costs_now(with.runtime);
  auto found = before;
  ordered_json profile = {
      {"format", "heddle-tuning-2"},     {"command", with.chosen.command},
      {"device", with.runtime.device()}, {"n_pes", n_pes},
      {"ways", ordered_json::object()},  {"measured_us", ordered_json::object()}};
  tuner measuring(with);
  int changed = 0;
  auto groups = groups_here(with.on_host, with.world.ref().has_network());
  for (group& all : groups)
    std::erase_if(all.ways, [&](const candidate& each) { return !measuring.has(each); });
  std::erase_if(groups, [](const group& all) { return all.ways.empty(); });
  for (const group& all : groups) {
    for (const candidate& each : all.ways) {
      const auto points = measuring.measure(each);
      const line cost = found[each.name] = fit(points);
      profile["ways"][each.name] = {{"fixed_ns", cost.fixed_ns}, {"ns_per_kib", cost.ns_per_kib}};
      if (speaks)
        fmt::print("# {}\n#{:>11}{:>15}{:>15}\n", each.name, "size (B)", "time (us)", "model (us)");
      for (const auto& [bytes, us] : points) {
        profile["measured_us"][each.name].push_back({bytes, us});
        if (speaks) fmt::print("{:>12}{:>15.3f}{:>15.3f}\n", bytes, us, cost.at(bytes) / 1000);
      }
      const line& was = before.at(each.name);
      if (speaks)
        fmt::print("# {:.0f} ns and {:.1f} ns a KiB; it was {:.0f} and {:.1f}\n#\n", cost.fixed_ns,
                   cost.ns_per_kib, was.fixed_ns, was.ns_per_kib);
    }
    const auto now = choices(all, found);
    const auto then = choices(all, before);
    changed += now != then ? 1 : 0;
    if (speaks)
      fmt::print("# {}: {}{}\n#\n", all.name, now,
                 now == then ? ", as it was" : "; it was " + then);
  }
  if (!speaks) return;
  write_whole(with.chosen.profile, text_of(profile));
  fmt::print("# {} of {} choices changed; HEDDLE_TUNING={} makes later runs use them\n", changed,
             groups.size(), with.chosen.profile);
}

}  // namespace perf
