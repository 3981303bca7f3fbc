// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "device_buffer.hpp"
#include "session.hpp"

namespace perf {

namespace {

using nlohmann::ordered_json;

struct way {
  const char* name;
  heddle_algorithm_t algorithm;
  heddle_protocol_t protocol;
};
constexpr way one_shot_ll = {"one_shot ll", HEDDLE_ALGORITHM_ONE_SHOT, HEDDLE_PROTOCOL_LL};
constexpr way one_shot_ll128 = {"one_shot ll128", HEDDLE_ALGORITHM_ONE_SHOT, HEDDLE_PROTOCOL_LL128};
constexpr way one_shot_simple = {"one_shot simple", HEDDLE_ALGORITHM_ONE_SHOT,
                                 HEDDLE_PROTOCOL_SIMPLE};
constexpr way one_shot = {"one_shot", HEDDLE_ALGORITHM_ONE_SHOT, HEDDLE_PROTOCOL_AUTO};
constexpr way two_shot = {"two_shot", HEDDLE_ALGORITHM_TWO_SHOT, HEDDLE_PROTOCOL_AUTO};
constexpr way ring = {"ring", HEDDLE_ALGORITHM_RING, HEDDLE_PROTOCOL_AUTO};
constexpr way ring_ll = {"ring ll", HEDDLE_ALGORITHM_RING, HEDDLE_PROTOCOL_LL};
constexpr way ring_ll128 = {"ring ll128", HEDDLE_ALGORITHM_RING, HEDDLE_PROTOCOL_LL128};
constexpr way ring_simple = {"ring simple", HEDDLE_ALGORITHM_RING, HEDDLE_PROTOCOL_SIMPLE};
constexpr way words = {"words", HEDDLE_ALGORITHM_ONE_SHOT, HEDDLE_PROTOCOL_LL};
constexpr way slots = {"slots", HEDDLE_ALGORITHM_ONE_SHOT, HEDDLE_PROTOCOL_SIMPLE};
constexpr way direct = {"direct", HEDDLE_ALGORITHM_DIRECT, HEDDLE_PROTOCOL_SIMPLE};

/// A limit of plans: up to it a collective goes one way, beyond it the other.
struct limit {
  const char* name;
  heddle_collective_t what;
  way up_to;
  way beyond;
  std::size_t largest;  ///< size to measure: of the combination, or of a piece
  bool of_peers;        ///< the limit is for two PEs, and divided by the peers of more
};

/// What can be told apart here.
std::vector<limit> limits_here(bool on_host, bool has_network) {
  constexpr auto all_reduce = HEDDLE_COLLECTIVE_ALL_REDUCE;
  constexpr auto all_gather = HEDDLE_COLLECTIVE_ALL_GATHER;
  constexpr auto broadcast = HEDDLE_COLLECTIVE_BROADCAST;
  constexpr std::size_t k = 1024;
  if (has_network)
    return {{"network_one_shot", all_reduce, one_shot, ring, 256 * k, true},
            {"network_slots", all_gather, slots, direct, 1024 * k, false}};
  const std::size_t more = on_host ? 1 : 64;  // a GPU's limits are higher
  std::vector<limit> all;
  if (on_host) {
    all = {{"one_shot_ll", all_reduce, one_shot_ll, one_shot_simple, 4 * k, false},
           {"link_ll", all_reduce, ring_ll, ring_simple, 64 * k, false}};
  } else {
    all = {{"one_shot_ll", all_reduce, one_shot_ll, one_shot_ll128, 256 * k, false},
           {"one_shot_ll128", all_reduce, one_shot_ll128, one_shot_simple, 4096 * k, false},
           {"link_ll", all_reduce, ring_ll, ring_ll128, 1024 * k, false},
           {"link_ll128", all_reduce, ring_ll128, ring_simple, 16'384 * k, false}};
  }
  all.push_back({"one_shot", all_reduce, one_shot, two_shot, 64 * k * more, true});
  all.push_back({"words", all_gather, words, slots, 2 * k * more, false});
  all.push_back({"slots", all_gather, slots, direct, 16 * k * more, false});
  all.push_back({"rooted_slots", broadcast, slots, direct, 16 * k * more, false});
  return all;
}

struct point {
  std::size_t bytes;
  double us[2];  ///< up to the limit, beyond it
};

/// The size up to which the first way is taken, so that all points together take least, by their
/// ratios; 0: none.
std::size_t cut(const std::vector<point>& points) {
  double least = 0;
  double sum = 0;
  std::size_t best = 0;
  for (const auto& each : points) {
    sum += std::log(each.us[0] / each.us[1]);
    if (sum < least) {
      least = sum;
      best = each.bytes;
    }
  }
  return best;
}

void answer(void* user, heddle_collective_t, std::size_t, int, heddle_choice_t* choice) {
  const auto& wanted = *static_cast<const way*>(user);
  choice->algorithm = wanted.algorithm;
  choice->protocol = wanted.protocol;
}

class tuner {
 public:
  explicit tuner(const session& with)
      : with_(with),
        n_pes_(static_cast<std::size_t>(with.world.n_pes())),
        input_(with, (std::size_t{16} << 20) + 16),
        output_(with, (std::size_t{16} << 20) * n_pes_ + 16) {}

  [[nodiscard]] std::vector<point> measure(const limit& each) {
    std::vector<point> points;
    for (std::size_t bytes = 8; bytes <= each.largest; bytes *= 2) {
      point measured{bytes, {}};
      for (int i = 0; i < 2; ++i) {
        way wanted = i == 0 ? each.up_to : each.beyond;
        with_.world.set_chooser(answer, &wanted);
        measured.us[i] = time(each.what, bytes);
      }
      with_.world.set_chooser(nullptr);
      points.push_back(measured);
    }
    return points;
  }

 private:
  double time(heddle_collective_t what, std::size_t bytes) {
    auto* in = input_.as<float>();
    auto* out = output_.as<float>();
    const std::size_t count = bytes / sizeof(float);
    return with_.time_back_to_back([&](int calls) {
      for (int i = 0; i < calls; ++i) {
        if (what == HEDDLE_COLLECTIVE_ALL_REDUCE)
          with_.world.all_reduce(in, out, count, heddle::op::sum, with_.queue);
        else if (what == HEDDLE_COLLECTIVE_ALL_GATHER)
          with_.world.all_gather(in, out, count, with_.queue);
        else
          with_.world.broadcast(in, out, count, 0, with_.queue);
      }
    });
  }

  const session& with_;
  std::size_t n_pes_;
  device_buffer input_;
  device_buffer output_;
};

/// The limits as this job has them.
ordered_json limits_now(const heddle::runtime& runtime) {
  char* text = nullptr;
  heddle::detail::check(heddle_info_json(runtime.handle(), &text));
  const auto all = ordered_json::parse(text);
  heddle_string_free(text);
  return all["job"]["tuning"];
}

}  // namespace

void tune(const session& with) {
  const bool speaks = with.world.my_pe() == 0;
  const auto n_pes = static_cast<std::size_t>(with.world.n_pes());
  if (n_pes < 2 || n_pes > 64)
    throw std::runtime_error(
        fmt::format("tune is for 2 to 64 PEs, which this job has not: {}", n_pes));
  // Before minutes of measuring, not after.
  if (speaks && !std::ofstream(with.chosen.profile, std::ios::app))
    throw std::runtime_error("cannot write " + with.chosen.profile);
  const auto before = limits_now(with.runtime);
  ordered_json profile = {
      {"format", "heddle-tuning-1"},      {"command", with.chosen.command},
      {"device", with.runtime.device()},  {"n_pes", n_pes},
      {"limits", ordered_json::object()}, {"measured_us", ordered_json::object()}};
  tuner measuring(with);
  int changed = 0;
  const auto limits = limits_here(with.on_host, with.world.ref().has_network());
  for (const limit& each : limits) {
    if (speaks)
      fmt::print("# {}: {} up to it, {} beyond\n#{:>11}{:>18}{:>18}\n", each.name, each.up_to.name,
                 each.beyond.name, "size (B)", fmt::format("{} (us)", each.up_to.name),
                 fmt::format("{} (us)", each.beyond.name));
    const auto points = measuring.measure(each);
    const std::size_t found = cut(points) * (each.of_peers ? n_pes - 1 : 1);
    const auto was = before[each.name].get<std::size_t>();
    changed += found != was ? 1 : 0;
    profile["limits"][each.name] = found;
    for (const auto& [bytes, us] : points) {
      profile["measured_us"][each.name].push_back({bytes, us[0], us[1]});
      if (speaks) fmt::print("{:>12}{:>18.3f}{:>18.3f}\n", bytes, us[0], us[1]);
    }
    if (speaks)
      fmt::print("# {}: {} bytes{}\n#\n", each.name, found,
                 found == was ? ", as it was" : fmt::format(", it was {}", was));
  }
  if (!speaks) return;
  std::ofstream(with.chosen.profile, std::ios::trunc) << profile.dump(2) << '\n';
  fmt::print("# {} of {} limits changed; HEDDLE_TUNING={} makes later runs use them\n", changed,
             limits.size(), with.chosen.profile);
}

}  // namespace perf
