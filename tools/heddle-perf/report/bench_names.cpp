// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "bench_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace perf::report {

namespace {

using words = std::pair<std::string_view, std::string_view>;

constexpr std::array<words, 12> block_words = {{
    {"put", "Put and signal"},
    {"all_reduce", "AllReduce, float32 sum"},
    {"fresh", "AllReduce of data that was just written"},
    {"collectives", "The other collectives"},
    {"crowded", "AllReduce, processors shared"},
    {"init", "Launch, init and one AllReduce"},
    {"team", "What a team costs"},
    {"network", "AllReduce between 2 hosts, TCP"},
    {"network_collectives", "The other collectives between 2 hosts, TCP"},
    {"network_put", "Put and signal between 2 hosts"},
    {"rdma", "Put and signal, soft RDMA"},
    {"launch", "Launch of an empty kernel"},
}};

constexpr std::array<words, 29> operation_words = {{
    {"all_reduce", "AllReduce"},
    {"all_reduce_fresh", "AllReduce, data just written"},
    {"reduce_scatter", "ReduceScatter"},
    {"reduce_scatter_v", "ReduceScatterV"},
    {"reduce", "Reduce"},
    {"broadcast", "Broadcast"},
    {"all_gather", "AllGather"},
    {"all_gather_v", "AllGatherV"},
    {"all_to_all", "AllToAll"},
    {"all_to_all_v", "AllToAllV"},
    {"gather", "Gather"},
    {"scatter", "Scatter"},
    {"sendrecv", "Send and Recv"},
    {"put", "Put"},
    {"get", "Get"},
    {"signal", "Put and signal, one way"},
    {"atomic", "Atomic"},
    {"barrier", "Barrier"},
    {"rate", "Rate of puts"},
    {"put_one_way", "Put, one way"},
    {"put_both_ways", "Put, both ways at once"},
    {"put_signal", "put_signal, signal seen"},
    {"put_signal_one_line", "put_signal in one line, payload read"},
    {"put_signal_two_lines", "put_signal in two lines, payload read"},
    {"network_signal", "put_signal, one way"},
    {"network_put", "Put, 16 and a quiet"},
    {"network_rate", "Put from 4 blocks, 64 and a quiet"},
    {"network_signal_rate", "put_signal from 4 blocks"},
    {"network_atomic_rate", "atomic_add from 4 blocks"},
}};

constexpr std::array<words, 2> other_words = {{
    {"network_idle", "Processor time of a sleeping PE, in a second"},
    {"wall", "The whole command"},
}};

/// A bare limit, and what it is the limit of. A rate is that of several.
constexpr std::array<words, 15> limits = {{
    {"flag", "put_signal"},
    {"flag", "signal"},
    {"payload_one_line", "put_signal_one_line"},
    {"payload_two_lines", "put_signal_two_lines"},
    {"tcp_exchange", "all_reduce"},
    {"fabric_write_flag", "network_signal"},
    {"fabric_write", "network_put"},
    {"fabric_rate", "network_rate"},
    {"fabric_rate", "network_signal_rate"},
    {"perftest_write_lat", "network_signal"},
    {"perftest_send_lat", "network_signal"},
    {"perftest_write_bw", "network_put"},
    {"perftest_write_rate", "network_rate"},
    {"perftest_write_rate", "network_signal_rate"},
    {"perftest_atomic_rate", "network_atomic_rate"},
}};

template <std::size_t N>
std::string_view find(const std::array<words, N>& in, std::string_view name) {
  for (const auto& [key, meaning] : in)
    if (key == name) return meaning;
  return {};
}

/// "crowded_8": "crowded" and 8; without a number the whole and 0.
std::pair<std::string_view, int> without_number(std::string_view block) {
  const auto line = block.rfind('_');
  int number = 0;
  if (line == std::string_view::npos) return {block, 0};
  const auto* last = block.data() + block.size();
  const auto [end, failed] = std::from_chars(block.data() + line + 1, last, number);
  if (failed != std::errc() || end != last || number < 1) return {block, 0};
  return {block.substr(0, line), number};
}

}  // namespace

int pes_of(std::string_view block) {
  const int number = without_number(block).second;
  return number > 0 ? number : block == "init" ? 8 : 2;
}

std::string block_title(std::string_view block) {
  const auto meaning = find(block_words, without_number(block).first);
  if (meaning.empty()) return std::string(block);
  return fmt::format("{}, {} PEs", meaning, pes_of(block));
}

std::string operation_title(std::string_view what) {
  auto meaning = find(operation_words, what);
  if (meaning.empty()) meaning = find(other_words, what);
  return std::string(meaning.empty() ? what : meaning);
}

std::vector<std::string> subjects_of(std::string_view what) {
  std::vector<std::string> all;
  for (const auto& [limit, subject] : limits)
    if (limit == what) all.emplace_back(subject);
  if (all.empty()) all.emplace_back(what);
  return all;
}

double bus_factor(std::string_view what, int n_pes) {
  // "all_reduce_fresh" and, of a GPU, "all_reduce in a graph" too.
  const auto is = [&](std::string_view name) {
    return what == name || what.substr(0, name.size() + 1) == fmt::format("{} ", name);
  };
  constexpr std::array<std::string_view, 5> spread = {"reduce_scatter", "all_gather", "all_to_all",
                                                      "gather", "scatter"};
  if (is("all_reduce") || is("all_reduce_fresh")) return 2.0 * (n_pes - 1) / n_pes;
  if (std::any_of(spread.begin(), spread.end(), is)) return (n_pes - 1.0) / n_pes;
  return 1;
}

}  // namespace perf::report
