// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "support/environment.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <vector>

#include "support/throw_error.hpp"

namespace heddle {

namespace {

/// Stores a value in its field; returns what is accepted if the text is not.
using parser = std::function<std::string(environment&, std::string_view)>;

struct variable {
  std::string name;
  std::string default_value;
  std::string meaning;
  parser parse;
};

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

parser text(std::string environment::*field) {
  return [field](environment& into, std::string_view value) {
    into.*field = value;
    return std::string();
  };
}

parser one_of(std::string environment::*field, std::vector<std::string> names) {
  return
      [field, names = std::move(names)](environment& into, std::string_view value) -> std::string {
        if (std::find(names.begin(), names.end(), value) == names.end())
          return fmt::format("one of {}", fmt::join(names, ", "));
        into.*field = value;
        return {};
      };
}

parser integer(int environment::*field, int low, int high) {
  return [=](environment& into, std::string_view value) -> std::string {
    const auto number = parse_number<int>(value);
    if (!number || *number < low || *number > high)
      return fmt::format("an integer from {} to {}", low, high);
    into.*field = *number;
    return {};
  };
}

parser team_places() {
  constexpr int low = 2;  // world and node
  constexpr int high = 64;
  return [=](environment& into, std::string_view value) -> std::string {
    into.max_teams = value == "auto" ? 0 : parse_number<int>(value).value_or(-1);
    if (value == "auto" || (into.max_teams >= low && into.max_teams <= high)) return {};
    return fmt::format("auto, or an integer from {} to {}", low, high);
  };
}

parser seconds(double environment::*field) {
  return [field](environment& into, std::string_view value) -> std::string {
    const auto number = parse_number<double>(value);
    if (!number || !(*number > 0) || *number > 1e9)
      return "a number of seconds above 0, up to 1000000000";
    into.*field = *number;
    return {};
  };
}

parser flag(bool environment::*field) {
  return [field](environment& into, std::string_view value) -> std::string {
    if (value != "0" && value != "1") return "0 or 1";
    into.*field = value == "1";
    return {};
  };
}

parser heap_size() {
  return [](environment& into, std::string_view value) -> std::string {
    if (value == "auto") {
      into.heap_size = 0;
      return {};
    }
    const auto bytes = parse_bytes(value);
    if (!bytes || *bytes == 0 || *bytes > std::size_t{1} << 44)
      return "auto, or a size such as 512M or 16GiB, at most 16 TiB";
    into.heap_size = *bytes;
    return {};
  };
}

parser device() {
  return [](environment& into, std::string_view value) -> std::string {
    constexpr std::string_view numbered = "cuda:";
    const bool has_number = value.starts_with(numbered) &&
                            parse_number<int>(value.substr(numbered.size())).value_or(-1) >= 0;
    if (value != "host" && value != "cuda" && !has_number) return "host, cuda or cuda:N";
    into.device = value;
    return {};
  };
}

const std::vector<variable>& variables() {
  static const std::vector<variable> table = {
      {"HEDDLE_ACCUMULATE_F32", "0",
       "1: reductions of float16, bfloat16 and float8 elements are rounded once, "
       "whichever way they go: along a ring combinations travel as float32, two or four times the "
       "bytes",
       flag(&environment::accumulate_f32)},
      {"HEDDLE_ALGO", "",
       "Algorithm of the collectives that have it: one_shot, two_shot, multicast (two_shot, where "
       "an "
       "NVLink switch combines), hierarchical (by memory in each host, by the network across), "
       "ring, tree or direct (without slots); empty: chosen by size",
       one_of(&environment::algo,
              {"", "one_shot", "two_shot", "multicast", "hierarchical", "ring", "tree", "direct"})},
      {"HEDDLE_BLOCK_THREADS", "0", "Threads of a collective's blocks; 0: chosen",
       integer(&environment::block_threads, 0, 1024)},
      {"HEDDLE_CHANNELS", "0",
       "Blocks of a collective, each with its part of the elements; 0: chosen",
       integer(&environment::channels, 0, 64)},
      {"HEDDLE_CHECK", "0",
       "1: compare collective calls across PEs and name the PE that differs, at the cost of an "
       "exchange",
       flag(&environment::check)},
      {"HEDDLE_CONTEXTS", "4",
       "Contexts of a PE, 1 to 16: queues to its proxy that order and complete what goes through "
       "the network independently",
       integer(&environment::contexts, 1, 16)},
      {"HEDDLE_DEBUG", "WARN", "What is logged to stderr: NONE, WARN, INFO or TRACE",
       one_of(&environment::debug, {"NONE", "WARN", "INFO", "TRACE"})},
      {"HEDDLE_DEBUG_SUBSYS", "ALL",
       "Subsystems whose INFO and TRACE are logged: ALL, or names of INIT, BOOTSTRAP, HEAP, "
       "DEVICE, TEAM, COLL, TRANSPORT and ENV, as INIT,COLL; ^ in front excludes them",
       text(&environment::debug_subsys)},
      {"HEDDLE_DEVICE", "host",
       "What runs kernels and has the heap: host, cuda (the PEs of a host take its GPUs in turn) "
       "or "
       "cuda:N",
       device()},
      {"HEDDLE_EPOCH_BITS", "32",
       "Width of the flags of the LL protocol, 8 to 32: for tests of their wrap",
       integer(&environment::epoch_bits, 8, 32)},
      {"HEDDLE_FABRIC_HANDLES", "auto",
       "How GPU memory goes to other processes: auto (as fabric handles where every PE's driver "
       "has them, else as file descriptors) or off (as file descriptors)",
       one_of(&environment::fabric_handles, {"auto", "off"})},
      {"HEDDLE_FABRIC_PROVIDER", "",
       "Provider of libfabric for peers on other hosts, as net, tcp;ofi_rxm, sockets, udp;ofi_rxd, "
       "verbs;ofi_rxm, cxi or efa; empty: the best that fits (heddle-info lists them)",
       text(&environment::fabric_provider)},
      {"HEDDLE_GPUDIRECT_DISABLE", "0",
       "1: network cards do not read and write GPU memory themselves; the proxy copies",
       flag(&environment::gpudirect_disable)},
      {"HEDDLE_HEAP_SIZE", "auto",
       "Address space reserved for each PE's heap, as 64M or 16GiB: memory is taken as it is used; "
       "auto: the machine's memory rounded up to a power of two, or less where many PEs share a "
       "machine",
       heap_size()},
      {"HEDDLE_IB_DISABLE", "0",
       "1: use no InfiniBand or RoCE device through verbs, libfabric's included",
       flag(&environment::ib_disable)},
      {"HEDDLE_IB_GID_INDEX", "-1",
       "Address of an RDMA port's table that is used, as show_gids and heddle-info number them; "
       "-1: chosen",
       integer(&environment::ib_gid_index, -1, 255)},
      {"HEDDLE_IB_HCA", "",
       "RDMA devices to use: prefixes as mlx5,rxe; :1 behind one: this port alone; = in front: "
       "exact names; ^ in front: all but these",
       text(&environment::ib_hca)},
      {"HEDDLE_IB_RETRY_CNT", "7",
       "Times that an RDMA card sends again what is not acknowledged, 0 to 7",
       integer(&environment::ib_retry_count, 0, 7)},
      {"HEDDLE_IB_SL", "0", "InfiniBand's service level, 0 to 15; on RoCE the priority",
       integer(&environment::ib_service_level, 0, 15)},
      {"HEDDLE_IB_TIMEOUT", "20",
       "How long an RDMA card waits for an acknowledgement: 4.096 us times 2 to this power, 1 to "
       "31; 20 is 4.3 s",
       integer(&environment::ib_timeout, 1, 31)},
      {"HEDDLE_IB_TRAFFIC_CLASS", "0",
       "Traffic class of RDMA packets that are routed, on RoCE all: DSCP times 4",
       integer(&environment::ib_traffic_class, 0, 255)},
      {"HEDDLE_INIT_TIMEOUT", "60", "Seconds that joining the job may take",
       seconds(&environment::init_timeout)},
      {"HEDDLE_JOB_SECRET", "",
       "What PEs started by torchrun's variables prove to each other; empty: derived from the "
       "job's id",
       text(&environment::job_secret)},
      {"HEDDLE_MAX_TEAMS", "auto",
       "Teams that a PE can be in at one time, world and node included, 2 to 64; auto: 64 on the "
       "host device, 16 on cuda, where each takes memory from the start",
       team_places()},
      {"HEDDLE_MULTICAST", "0",
       "1: map heaps in GPU memory for multicast too, where every PE has a device of its own that "
       "can (NVLink SHARP); the switch reduces in an order of its own",
       flag(&environment::multicast)},
      {"HEDDLE_P2P_DISABLE", "0",
       "1: map no other PE's memory: all go through the network, those of this host too",
       flag(&environment::p2p_disable)},
      {"HEDDLE_PES_PER_HOST", "0",
       "PEs count as on hosts of so many each, by number, and reach each other by network across "
       "them: to try on one machine what is for several; 0: they are where they are",
       integer(&environment::pes_per_host, 0, 1'000'000)},
      {"HEDDLE_PROTO", "", "Protocol of collectives: simple, ll or ll128; empty: chosen by size",
       one_of(&environment::proto, {"", "simple", "ll", "ll128"})},
      {"HEDDLE_RENDEZVOUS_PORT", "0",
       "TCP port at MASTER_ADDR where PEs started by torchrun's variables meet; 0: MASTER_PORT + 1",
       integer(&environment::rendezvous_port, 0, 65535)},
      {"HEDDLE_SOCKET_IFNAME", "",
       "Network interfaces to use: prefixes as eth,ib; = in front: exact names; ^ in front: all "
       "but these",
       text(&environment::socket_ifname)},
      {"HEDDLE_SPIN", "-1",
       "Looks at a word before a waiting host thread yields its core; -1: many where every PE has "
       "a core",
       integer(&environment::spin, -1, 1'000'000'000)},
      {"HEDDLE_TCP_CONGESTION", "auto",
       "What the kernel does about congestion of heddle's TCP: system (as it is set), its name for "
       "another, or auto (as it is set, but Reno for BBR and CUBIC between near hosts)",
       text(&environment::tcp_congestion)},
      {"HEDDLE_TIMEOUT", "300", "Seconds that a wait for another PE may take before it is an error",
       seconds(&environment::timeout)},
      {"HEDDLE_TRANSPORT", "auto",
       "What carries data to PEs whose memory is not mapped: auto (the first that all PEs have "
       "of verbs, libfabric with a network card, and tcp), verbs, libfabric, tcp, or none: PEs are "
       "reached by memory alone",
       one_of(&environment::transport, {"auto", "verbs", "libfabric", "tcp", "none"})},
      {"HEDDLE_TUNING", "",
       "File with what the ways of collectives cost here, as `heddle-perf tune` writes it, a "
       "regular file of 1 MiB at most; empty: heddle's own",
       text(&environment::tuning)},
  };
  return table;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

const variable& nearest(std::string_view name) {
  return *std::min_element(variables().begin(), variables().end(),
                           [&](const auto& a, const auto& b) {
                             return edit_distance(name, a.name) < edit_distance(name, b.name);
                           });
}

/// ./dev's own variables have this prefix and are nothing to the library.
constexpr std::string_view reserved_prefix = "HEDDLE_DEV_";

}  // namespace

environment environment::from_process() {
  environment result;
  std::string problems;
  for (const auto& variable : variables()) {
    const char* set = std::getenv(variable.name.c_str());
    const auto accepted = variable.parse(result, set ? set : variable.default_value);
    if (!accepted.empty())
      problems += fmt::format("\n  {}={}: must be {}", variable.name, set, accepted);
  }
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view all(*entry);
    const auto name = all.substr(0, all.find('='));
    if (!name.starts_with("HEDDLE_") || name.starts_with(reserved_prefix)) continue;
    const auto known = std::any_of(variables().begin(), variables().end(),
                                   [&](const auto& variable) { return variable.name == name; });
    if (!known)
      problems +=
          fmt::format("\n  {}: no such variable; the nearest is {}", name, nearest(name).name);
  }
  if (!problems.empty())
    throw_error(
        HEDDLE_ERROR_INVALID_ARGUMENT,
        "the environment has variables that heddle cannot take (heddle-info --no-job lists all):{}",
        problems);
  if (result.max_teams == 0) result.max_teams = result.device == "host" ? 64 : 16;
  return result;
}

std::vector<environment::description> environment::describe() {
  std::vector<description> rows;
  for (const auto& variable : variables()) {
    const char* set = std::getenv(variable.name.c_str());
    // What heddle-info prints ends up in logs and reports.
    if (set && variable.name == "HEDDLE_JOB_SECRET") set = "(set, not shown)";
    rows.push_back({variable.name, set ? set : variable.default_value, variable.default_value,
                    variable.meaning, set != nullptr});
  }
  return rows;
}

std::optional<std::size_t> parse_bytes(std::string_view text) {
  std::size_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc()) return {};
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  constexpr std::string_view letters = "KMGT";
  std::size_t factor = 1;
  if (!unit.empty()) {
    const char letter = unit[0] >= 'a' ? static_cast<char>(unit[0] - 'a' + 'A') : unit[0];
    const auto power = letters.find(letter);
    if (power != std::string_view::npos) {
      factor = std::size_t{1} << (10 * (power + 1));
      unit.remove_prefix(1);
      if (unit == "iB" || unit == "B") unit = {};
    } else if (unit == "B") {
      unit = {};
    }
  }
  if (!unit.empty() || number > SIZE_MAX / factor) return {};
  return number * factor;
}

std::string format_bytes(std::size_t bytes) {
  constexpr std::array<std::string_view, 5> units = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  std::size_t scale = 1;
  while (unit + 1 < units.size() && bytes / scale >= 1024) {
    scale *= 1024;
    ++unit;
  }
  const double value = static_cast<double>(bytes) / static_cast<double>(scale);
  return bytes % scale == 0 ? fmt::format("{} {}", bytes / scale, units[unit])
                            : fmt::format("{:.1f} {}", value, units[unit]);
}

}  // namespace heddle
