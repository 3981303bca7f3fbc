// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "read_perf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "bench_names.hpp"
#include "text.hpp"

namespace perf::report {

namespace {

/// "AllReduce, float sum, 2 PEs": of type and reduction only what there is.
std::string title_of(const json_value& row, std::size_t n_pes) {
  auto title = operation_title(row["collective"].text());
  const auto type = row["type"].text();
  const auto redop = row["redop"].text();
  const bool has_type = type != "none" && type != "byte";
  if (has_type) title += ", " + type;
  if (redop != "none") title += (has_type ? " " : ", ") + redop;
  return title + fmt::format(", {} PE{}", n_pes, n_pes == 1 ? "" : "s");
}

perf_run::line read_line(const json_value& row, std::size_t n_pes, bool several_roots) {
  perf_run::line read;
  read.title = title_of(row, n_pes);
  read.bytes = row["bytes"].integer();
  read.time_us = row["time_us"].time();
  read.latency_us = row["latency_us"].time();
  read.busbw = read.bytes > 0 ? row["busbw"].number() : 0;
  read.in_place = row["in_place"].truth();
  if (row.has("queues")) {
    const auto queues = row["queues"].integer();
    read.way += fmt::format(", {} queue{}", queues, queues == 1 ? "" : "s");
  }
  if (several_roots) read.way += fmt::format(", root {}", row["root"].integer());
  const auto algo = row["algo"].text();
  if (algo != "none") read.plan = algo + " " + row["proto"].text();
  if (row.has("forced")) read.way += ", " + read.plan;
  return read;
}

std::string without_json(const std::string& label) {
  constexpr std::string_view end = ".json";
  const bool has =
      label.size() > end.size() && std::string_view(label).substr(label.size() - end.size()) == end;
  return has ? label.substr(0, label.size() - end.size()) : label;
}

comparison& found(std::vector<comparison>& all, const std::string& title) {
  for (auto& each : all)
    if (each.title == title) return each;
  all.emplace_back().title = title;
  return all.back();
}

curve& found(std::vector<curve>& all, const std::string& name) {
  for (auto& each : all)
    if (each.name == name) return each;
  all.push_back({name, all.empty() ? role::heddle : role::variant, {}, {}});
  return all.back();
}

/// A size that is there already was measured in several cycles: the median of them.
void add_point(curve& to, const point& measured) {
  const auto same = std::find_if(to.points.begin(), to.points.end(),
                                 [&](const point& each) { return each.bytes == measured.bytes; });
  if (same == to.points.end()) {
    to.points.push_back(measured);
    return;
  }
  const double moved = same->busbw * same->time_us;  // in any time
  same->rounds.push_back(measured.time_us);
  same->time_us = median(same->rounds);
  same->busbw = same->time_us > 0 ? moved / same->time_us : 0;
}

}  // namespace

perf_run read_perf(const json_value& file, const std::string& label) {
  perf_run read;
  read.label = label;
  const auto n_pes = file["n_pes"].integer();
  read.facts = {{"machine", file["host"].text()},
                {"device", file["device"].text()},
                {"date", file["date"].text()},
                {"command", file["command"].text()},
                {"heddle version", file["version"].text()},
                {"PEs", fmt::format("{}", n_pes)}};
  std::set<std::size_t> roots;
  for (const auto& row : file["rows"].items())
    if (row.has("root")) roots.insert(row["root"].integer());
  for (const auto& row : file["rows"].items()) {
    read.lines.push_back(read_line(row, n_pes, roots.size() > 1));
    const auto& last = read.lines.back();
    const auto wrong = row["wrong"];
    if (!wrong.is_null() && wrong.integer() > 0)
      read.warnings.push_back(fmt::format("{}: {} wrong elements in {} of {}, {}", label,
                                          wrong.integer(), last.title, size_text(last.bytes),
                                          last.in_place ? "in-place" : "out-of-place"));
  }
  if (read.lines.empty()) file["rows"].fail("at least one row");
  return read;
}

section combine(const std::vector<perf_run>& runs) {
  section all;
  all.title = "heddle-perf";
  all.blocks.emplace_back();
  auto& comparisons = all.blocks.back().comparisons;
  std::map<std::string, std::set<std::string>> labels;  // of the runs in a comparison
  for (const auto& run : runs)
    for (const auto& each : run.lines) labels[each.title].insert(run.label);
  for (const auto& run : runs) {
    all.runs.push_back({run.label, run.facts});
    all.warnings.insert(all.warnings.end(), run.warnings.begin(), run.warnings.end());
    std::set<std::string> placed;  // what has both placements
    for (const auto& each : run.lines)
      if (each.in_place) placed.insert(each.title);
    for (const auto& each : run.lines) {
      const bool both = placed.contains(each.title);
      const auto* placement = !both ? "" : each.in_place ? ", in-place" : ", out-of-place";
      const auto of_file =
          labels[each.title].size() > 1 ? fmt::format(" ({})", without_json(run.label)) : "";
      auto& curves = found(comparisons, each.title).curves;
      const auto add = [&](const char* what, double time_us, double busbw) {
        add_point(found(curves, fmt::format("heddle{}{}{}{}", each.way, placement, what, of_file)),
                  {each.bytes, time_us, busbw, each.plan, {time_us}});
      };
      add("", each.time_us, each.busbw);
      add(", latency", each.latency_us, 0);
    }
  }
  for (auto& each : comparisons) each.sort_curves();
  return all;
}

}  // namespace perf::report
