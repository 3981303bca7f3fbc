// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "read_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "bench_names.hpp"

namespace perf::report {

namespace {

bool begins(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}

/// Of each round; 0 where it gave none.
std::vector<double> read_rounds(const json_value& rounds) {
  std::vector<double> times;
  for (const auto& each : rounds.items()) times.push_back(each.is_null() ? 0 : each.time());
  return times;
}

/// Before and after each round's run; empty where the probe gave nothing.
std::vector<std::vector<double>> read_probes(const json_value& contender) {
  std::vector<std::vector<double>> probes;
  // Files of before probes had a name of their own have flags alone.
  for (const char* name : {"probes_us", "flags_us"}) {
    if (!contender.has(name)) continue;
    for (const auto& round : contender[name].items()) {
      auto& both = probes.emplace_back();
      if (round.is_null()) continue;
      for (const auto& each : round.items()) both.push_back(each.time());
    }
    return probes;
  }
  return probes;
}

double median_of_rounds(std::vector<double> rounds) {
  rounds.erase(std::remove(rounds.begin(), rounds.end(), 0.0), rounds.end());
  return median(std::move(rounds));
}

/// Gathers the points of a block into comparisons.
class block_reader {
 public:
  explicit block_reader(const std::string& name) : n_pes_(pes_of(name)) {
    result_.title = block_title(name);
  }

  void read(const std::string& contender, const json_value& from) {
    const auto first = all_.size();
    const auto probes = read_probes(from);
    std::map<std::string, std::set<std::string>> variants;
    for (const auto& each : from["points"].items()) {
      measured one{each["what"].text(), each["variant"].text(), {}, {}, {}};
      one.at.bytes = each["bytes"].integer();
      one.at.rounds = read_rounds(each["us"]);
      one.at.time_us = median_of_rounds(one.at.rounds);
      if (one.at.time_us <= 0) continue;
      one.at.busbw =
          static_cast<double>(one.at.bytes) / one.at.time_us / 1e3 * bus_factor(one.what, n_pes_);
      variants[one.what].insert(one.variant);
      all_.push_back(std::move(one));
    }
    for (auto i = first; i < all_.size(); ++i) {
      auto& [what, variant, at, of, shown] = all_[i];
      of.of = role_of(contender, variant);
      of.probes = probes;
      // One program that measured several contenders names them by the variant.
      of.name = contender == "machine" ? variant : contender == "bare" ? "bare limit" : contender;
      shown = variants[what].size() > 1;
      if (of.of != role::limit) measured_.insert(what);
      if (of.of == role::heddle) ways_[what].insert(variant);
    }
  }

  [[nodiscard]] block take() {
    for (const auto& each : all_) {
      auto subjects = subjects_of(each.what);
      const auto unknown = [&](const std::string& one) { return measured_.count(one) == 0; };
      subjects.erase(std::remove_if(subjects.begin(), subjects.end(), unknown), subjects.end());
      if (subjects.empty()) subjects = {each.what};
      for (const auto& subject : subjects) add(subject, each);
    }
    const bool alone = result_.comparisons.size() == 1;
    for (auto& each : result_.comparisons) {
      each.sort_curves();
      if (each.has_curves())
        each.title = alone ? result_.title : fmt::format("{}, {} PEs", each.title, n_pes_);
    }
    return std::move(result_);
  }

 private:
  struct measured {
    std::string what, variant;
    point at;
    curve of;            ///< without points
    bool shown = false;  ///< whether its contender did the same in other ways too
  };

  static role role_of(std::string_view contender, std::string_view variant) {
    if (begins(contender, "bare") || variant == "perftest") return role::limit;
    if (contender == "heddle" || contender == "heddle, graph" ||
        (contender == "machine" && variant == "heddle"))
      return role::heddle;
    return begins(contender, "heddle") || variant == "heddle" ? role::variant : role::peer;
  }

  /// What heddle did in several ways is compared way by way; who knows none of them is in each.
  void add(const std::string& subject, const measured& one) {
    const auto& ways = ways_[subject];
    const auto title = operation_title(subject);
    if (ways.size() < 2) return add(title, one, one.shown);
    if (ways.count(one.variant) > 0)
      return add(fmt::format("{}, {}", title, one.variant), one, false);
    for (const auto& way : ways) add(fmt::format("{}, {}", title, way), one, one.shown);
  }

  void add(const std::string& title, const measured& one, bool with_variant) {
    auto name = one.of.name;
    auto at = one.at;
    if (with_variant && one.of.of == role::limit) at.note = one.variant;
    if (with_variant && one.of.of != role::limit && name != one.variant) name += ", " + one.variant;
    auto& curves = found(result_.comparisons, &comparison::title, title).curves;
    auto& mine = found(curves, &curve::name, name);
    mine.of = one.of.of;
    mine.probes = one.of.probes;
    // Of the ways to the same limit the fastest counts.
    const auto same = std::find_if(mine.points.begin(), mine.points.end(),
                                   [&](const point& each) { return each.bytes == at.bytes; });
    if (same == mine.points.end())
      mine.points.push_back(at);
    else if (at.time_us < same->time_us)
      *same = at;
  }

  /// The one of that name, made if there is none.
  template <class T>
  static T& found(std::vector<T>& all, std::string T::*name, const std::string& wanted) {
    for (auto& each : all)
      if (each.*name == wanted) return each;
    all.emplace_back().*name = wanted;
    return all.back();
  }

  int n_pes_;
  std::vector<measured> all_;
  std::set<std::string> measured_;                     // by others than the bare machine
  std::map<std::string, std::set<std::string>> ways_;  // of heddle, to do the same
  block result_;
};

std::vector<fact> read_facts(const json_value& about) {
  std::vector<fact> facts;
  const auto take = [&](const char* name, const char* called) {
    if (about.has(name)) facts.emplace_back(called, about[name].text());
  };
  take("GPU", "GPU");
  take("processor", "machine");
  take("date", "date");
  take("command", "command");
  take("commit", "heddle commit");
  for (const auto& [name, value] : about.members())
    if (name != "GPU" && name != "processor" && name != "date" && name != "command" &&
        name != "commit")
      facts.emplace_back(name, value.text());
  return facts;
}

verdict read_verdict(const json_value& rule) {
  const bool skipped = rule.has("skipped") && rule["skipped"].truth();
  return {rule["rule"].text(), rule["limit"].text(), rule["found"].text(),
          skipped                  ? "SKIP"
          : rule["passed"].truth() ? "PASS"
                                   : "FAIL"};
}

}  // namespace

section read_bench(const json_value& file, const std::string& label) {
  section all;
  all.runs.push_back({label, read_facts(file["about"])});
  for (const char* part : {"GPU", "machine", "date"})
    for (const auto& [name, value] : all.runs.front().facts)
      if (name == part) all.title += (all.title.empty() ? "" : ", ") + value;
  if (all.title.empty()) all.title = label;
  if (file.has("rules"))
    for (const auto& each : file["rules"].items()) all.verdicts.push_back(read_verdict(each));
  for (const auto& [name, contenders] : file["results"].members()) {
    block_reader reader(name);
    for (const auto& [contender, measured] : contenders.members()) {
      reader.read(contender, measured);
      if (measured.has("failures"))
        for (const auto& each : measured["failures"].items())
          all.warnings.push_back(fmt::format("{}, {}: {}", name, contender, each.text()));
      if (measured.has("facts"))
        for (const auto& [what, value] : measured["facts"].members())
          all.numbers.emplace_back(fmt::format("{}, {}: {}", name, contender, what),
                                   fmt::format("{}", value.number()));
    }
    auto read = reader.take();
    if (!read.comparisons.empty()) all.blocks.push_back(std::move(read));
  }
  return all;
}

}  // namespace perf::report
