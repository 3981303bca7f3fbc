// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "results.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <ctime>
#include <nlohmann/json.hpp>

#include "csv.hpp"
#include "json_text.hpp"
#include "whole_file.hpp"

namespace perf {

namespace {

std::string wrong_text(const row& measured) {
  return measured.wrong ? fmt::format("{}", *measured.wrong) : "N/A";
}

std::string host_name() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace

results::results(const options& chosen, const heddle::runtime& runtime)
    : chosen_(chosen),
      speaks_(runtime.my_pe() == 0),
      n_pes_(runtime.n_pes()),
      device_(runtime.device()) {}

void results::start() {
  if (!speaks_) return;
  if (!chosen_.json_file.empty()) check_writable(chosen_.json_file);
  if (!chosen_.csv_file.empty()) check_writable(chosen_.csv_file);
  fmt::print("# heddle-perf {}, {} PEs, {} buffers, device of PE 0: {}\n", chosen_.what.name,
             n_pes_, name_of(chosen_.buffers), device_);
  fmt::print("# time: of a call, back to back; {}; {}\n#\n",
             chosen_.cpu_time ? "cputime: of the host, until it is issued"
                              : "latency: of a call by itself after a barrier",
             name_of(chosen_.average));
  const bool rates = chosen_.what.name == "rate";
  if (rates)
    fmt::print(
        "# a call: a batch of up to 64 puts and a quiet, from each queue; time: of a put\n#\n");
  const bool both = chosen_.what.has_in_place;
  fmt::print("#{:>65}{:>46}\n", both ? "out-of-place" : "", both ? "in-place" : "");
  const auto columns =
      fmt::format("{:>10}{:>10}{:>9}{:>9}{:>7}", "time", chosen_.cpu_time ? "cputime" : "latency",
                  "algbw", "busbw", "#wrong");
  const auto more = [&](const char* first, const char* second) {
    return rates ? fmt::format("{:>8}{:>10}", first, second) : std::string();
  };
  fmt::print("#{:>11}{:>12}{:>9}{:>7}{:>6}{}{}{}\n", "size", "count", "type", "redop", "root",
             columns, both ? " " + columns : "", more("queues", "rate"));
  const auto units =
      fmt::format("{:>10}{:>10}{:>9}{:>9}{:>7}", "(us)", "(us)", "(GB/s)", "(GB/s)", "");
  fmt::print("#{:>11}{:>12}{:>9}{:>7}{:>6}{}{}{}\n", "(B)", "(elements)", "", "", "", units,
             both ? " " + units : "", more("", "(M/s)"));
}

void results::begin_cycle(int cycle) const {
  if (speaks_ && chosen_.cycles > 1) fmt::print("# cycle {} of {}\n", cycle + 1, chosen_.cycles);
}

void results::begin_way(const way& forced) {
  forced_ = forced;
  if (!speaks_) return;
  const bool any = forced.protocol == HEDDLE_PROTOCOL_AUTO;
  fmt::print("# by {}{}{}\n", name_of(forced.algorithm), any ? "" : " ",
             any ? "" : name_of(forced.protocol));
}

void results::progress(const std::string& what) const {
  if (speaks_ && ::isatty(STDERR_FILENO)) fmt::print(stderr, "\r\033[Kmeasuring {} ...\r", what);
}

void results::add(std::vector<row> line) {
  if (forced_)
    for (row& each : line) label(each);
  lines_.push_back(line);
  if (!speaks_) return;
  if (::isatty(STDERR_FILENO)) fmt::print(stderr, "\r\033[K");
  const auto& first = line.front();
  fmt::print("{:>12}{:>12}{:>9}{:>7}{:>6}", first.bytes, first.count, first.type, first.redop,
             first.root);
  for (std::size_t i = 0; i < line.size(); ++i)
    fmt::print("{}{:>10.3f}{:>10.3f}{:>9.3f}{:>9.3f}{:>7}", i ? " " : "", line[i].time_us,
               line[i].cpu_us.value_or(line[i].latency_us), line[i].algbw, line[i].busbw,
               wrong_text(line[i]));
  if (first.queues > 0) fmt::print("{:>8}{:>10.3f}", first.queues, first.rate);
  fmt::print("\n");
  std::fflush(stdout);
}

/// By what was forced, which the plan has taken or not.
void results::label(row& forced) {
  forced.is_forced = true;
  const std::string wanted = name_of(forced_->algorithm);
  const std::string protocol = name_of(forced_->protocol);
  const bool any = forced_->protocol == HEDDLE_PROTOCOL_AUTO;
  // What combines nothing tells no protocol: it has two, and one shot is direct, by slots.
  const bool combines = forced.proto != "none";
  const bool goes = n_pes_ == 1 || forced.algo == "none" || forced.algo == wanted ||
                    (!combines && wanted == "one_shot" && forced.algo == "direct");
  const bool speaks =
      n_pes_ == 1 || any ||
      (combines ? forced.proto == protocol : forced_->protocol != HEDDLE_PROTOCOL_LL128);
  // Words are one shot's, whatever the plan calls them.
  const bool goes_by_words =
      n_pes_ > 1 && !combines && wanted == "direct" && forced_->protocol == HEDDLE_PROTOCOL_LL;
  if (!goes || !speaks || goes_by_words) {
    const auto went = goes_by_words ? "one_shot:ll"
                      : combines    ? fmt::format("{}:{}", forced.algo, forced.proto)
                                    : forced.algo;
    not_taken_.insert(
        fmt::format("{}{}{} went {}", wanted, any ? "" : ":", any ? "" : protocol, went));
    return;
  }
  forced.algo = wanted;
  if (!combines) forced.proto = protocol;
}

bool results::finish() {
  std::size_t wrong = 0;
  std::size_t rows = 0;
  double bandwidth = 0;
  bool checked = false;
  for (const auto& line : lines_)
    for (const auto& measured : line) {
      wrong += measured.wrong.value_or(0);
      checked |= measured.wrong.has_value();
      bandwidth += measured.busbw;
      ++rows;
    }
  if (speaks_) {
    fmt::print("# Out of bounds values : {} {}\n", wrong,
               wrong     ? "FAILED"
               : checked ? "OK"
                         : "(not checked)");
    fmt::print("# Avg bus bandwidth    : {:.4f}\n",
               rows == 0 ? 0.0 : bandwidth / static_cast<double>(rows));
    for (const auto& each : not_taken_) fmt::print("# Not the way asked for  : {} FAILED\n", each);
    if (!chosen_.json_file.empty()) write_json();
    if (!chosen_.csv_file.empty()) write_csv();
  }
  return wrong == 0 && not_taken_.empty();
}

void results::write_json() const {
  int major = 0;
  int minor = 0;
  int patch = 0;
  heddle_get_version(&major, &minor, &patch);
  nlohmann::ordered_json all = {
      {"version", fmt::format("{}.{}.{}", major, minor, patch)},
      {"n_pes", n_pes_},
      {"host", host_name()},
      {"device", device_},
      {"date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
      {"command", chosen_.command},
      {"rows", nlohmann::ordered_json::array()}};
  for (const auto& line : lines_)
    for (const auto& measured : line) {
      auto& written = all["rows"].emplace_back(nlohmann::ordered_json{
          {"collective", measured.collective},
          {"bytes", measured.bytes},
          {"count", measured.count},
          {"type", measured.type},
          {"redop", measured.redop},
          {"in_place", measured.in_place},
          {"algo", measured.algo},
          {"proto", measured.proto},
          {"time_us", measured.time_us},
          {"latency_us", measured.latency_us},
          {"algbw", measured.algbw},
          {"busbw", measured.busbw},
          {"wrong", measured.wrong ? nlohmann::ordered_json(*measured.wrong) : nullptr}});
      if (measured.root >= 0) written["root"] = measured.root;
      if (measured.is_forced) written["forced"] = true;
      if (measured.cpu_us) written["cpu_us"] = *measured.cpu_us;
      if (measured.queues > 0) {
        written["queues"] = measured.queues;
        written["rate"] = measured.rate;
      }
    }
  write_whole(chosen_.json_file, text_of(all));
}

void results::write_csv() const {
  std::string text = csv_header();
  for (const auto& line : lines_) text += csv_line(line, n_pes_, device_);
  write_whole(chosen_.csv_file, text);
}

}  // namespace perf
