// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "host/agreement.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <bitset>
#include <heddle/device/team.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "bootstrap/host_identity.hpp"
#include "support/throw_error.hpp"

namespace heddle {

namespace {

using nlohmann::ordered_json;

ordered_json what_must_agree(const environment& settings, const tuning& costs) {
  ordered_json all = {
      {"library", fmt::format("{}.{}.{}, layout {}", HEDDLE_VERSION_MAJOR, HEDDLE_VERSION_MINOR,
                              HEDDLE_VERSION_PATCH, team_ref::layout)},
      {"HEDDLE_DEVICE", settings.device == "host" ? "host" : "cuda"},
      {"HEDDLE_MAX_TEAMS", settings.max_teams},
      {"HEDDLE_EPOCH_BITS", settings.epoch_bits},
      {"HEDDLE_FABRIC_HANDLES", settings.fabric_handles},
      {"HEDDLE_MULTICAST", settings.multicast ? 1 : 0},
      {"HEDDLE_P2P_DISABLE", settings.p2p_disable ? 1 : 0},
      {"HEDDLE_PES_PER_HOST", settings.pes_per_host},
      {"HEDDLE_CONTEXTS", settings.contexts},
      {"HEDDLE_ACCUMULATE_F32", settings.accumulate_f32 ? 1 : 0},
      {"HEDDLE_ALGO", settings.algo},
      {"HEDDLE_PROTO", settings.proto},
      {"HEDDLE_CHANNELS", settings.channels},
      {"HEDDLE_CHECK", settings.check ? 1 : 0}};
  // Of profiles what counts, wherever a PE has its own from.
  for (const auto& [name, cost] : entries(costs, 2))
    all[fmt::format("HEDDLE_TUNING's {}", name)] = {cost.hop_ns, cost.ns_per_kib};
  return all;
}

/// As much as the machine has, as far as the addresses of a process reach for all its PEs.
std::size_t automatic_heap_size(const bootstrap& bootstrap, const environment& settings) {
  // Heaps on GPUs have as many addresses again for registered buffers, and a range for multicast.
  const auto addresses = std::size_t{1} << (settings.device == "host" ? 46 : 44);
  const auto memory = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) *
                      static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::size_t neighbours = 0;
  for (int pe = 0; pe < bootstrap.size(); ++pe)
    neighbours +=
        machine_of(bootstrap.host_of(pe)) == machine_of(bootstrap.host_of(bootstrap.rank()));
  return std::min(std::bit_ceil(memory), addresses / std::bit_ceil(neighbours));
}

using processor_set = std::bitset<CPU_SETSIZE>;

/// Where this process may run; all that there are, if the system does not tell.
processor_set my_processors() {
  cpu_set_t allowed;
  processor_set mine;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
    for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = CPU_ISSET(i, &allowed);
    return mine;
  }
  const auto there = static_cast<std::size_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  for (std::size_t i = 0; i < std::min(there, mine.size()); ++i) mine.set(i);
  return mine;
}

/// A digit for each, that of processor 0 last, from the first 1 on.
std::string text_of(const processor_set& set) {
  const auto bits = set.to_string();
  return bits.substr(std::min(bits.find('1'), bits.size()));
}

/// PEs for each processor, of those that have the fewest for themselves.
double pes_per_processor(const std::vector<processor_set>& pes) {
  double most = 0;
  for (const auto& some : pes) {
    const auto confined = std::count_if(
        pes.begin(), pes.end(), [&](const processor_set& each) { return (each & ~some).none(); });
    most = std::max(most, static_cast<double>(confined) /
                              static_cast<double>(std::max<std::size_t>(some.count(), 1)));
  }
  return most;
}

/// Looks at a word before a waiting thread yields: none where PEs must share a processor, which the
/// one that is waited for may need.
constexpr int spin_alone = 2000;
constexpr int spin_crowded = 0;

}  // namespace

double agree_on_settings(bootstrap& bootstrap, environment& settings, const tuning& costs,
                         deadline until) {
  constexpr const char *asked_heap = "heap asked for", *automatic_heap = "automatic heap",
                       *processors = "processors";
  auto mine = what_must_agree(settings, costs);
  mine[asked_heap] = settings.heap_size;
  mine[automatic_heap] = automatic_heap_size(bootstrap, settings);
  mine[processors] = text_of(my_processors());
  const auto sent = ordered_json::to_cbor(mine);
  const auto all = bootstrap.all_gather(std::as_bytes(std::span(sent)), until);

  const auto read = [](const bootstrap::bytes& bytes) {
    const auto* first = reinterpret_cast<const std::uint8_t*>(bytes.data());
    return ordered_json::from_cbor(first, first + bytes.size());
  };
  const auto first = read(all.front());
  auto automatic = mine[automatic_heap].get<std::size_t>();
  std::map<std::string_view, std::vector<processor_set>> machines;
  for (std::size_t pe = 0; pe < all.size(); ++pe) {
    const auto theirs = read(all[pe]);
    machines[machine_of(bootstrap.host_of(static_cast<int>(pe)))].emplace_back(
        theirs.value(processors, std::string()));
    for (const auto& [name, value] : first.items()) {
      if (name == asked_heap || name == automatic_heap || name == processors ||
          theirs.value(name, ordered_json()) == value)
        continue;
      throw_error(
          HEDDLE_ERROR_MISMATCH,
          "the PEs of a job must agree on {}: PE {} has {}, PE 0 has {}; start all with the "
          "same",
          name, pe, theirs.value(name, ordered_json()).dump(), value.dump());
    }
    settings.heap_size = std::max(settings.heap_size, theirs.value(asked_heap, std::size_t{0}));
    automatic = std::min(automatic, theirs.value(automatic_heap, automatic));
  }
  if (settings.heap_size == 0) settings.heap_size = automatic;
  const auto& here = machines[machine_of(bootstrap.host_of(bootstrap.rank()))];
  if (settings.spin < 0) settings.spin = pes_per_processor(here) > 1 ? spin_crowded : spin_alone;
  double most = 0;
  for (const auto& [name, pes] : machines) most = std::max(most, pes_per_processor(pes));
  return most;
}

}  // namespace heddle
