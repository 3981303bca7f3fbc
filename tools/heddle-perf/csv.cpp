// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "csv.hpp"

#include <fmt/format.h>

#include <cmath>

namespace perf {

namespace {

std::string number(double value) { return std::isfinite(value) ? fmt::format("{}", value) : ""; }

std::string joined(const std::vector<std::string>& fields) {
  std::string line;
  for (const auto& field : fields) {
    if (!line.empty()) line += ',';
    line += csv_field(field);
  }
  return line + '\n';
}

}  // namespace

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char each : text) quoted += each == '"' ? "\"\"" : std::string(1, each);
  return quoted + '"';
}

std::string csv_header() {
  std::vector<std::string> names = {"operation", "pes",   "device", "size_bytes", "count_elements",
                                    "type",      "redop", "root",   "algorithm",  "protocol"};
  for (const char* where : {"out_of_place", "in_place"})
    for (const char* what :
         {"time_us", "latency_us", "algbw_gb_per_s", "busbw_gb_per_s", "wrong_elements"})
      names.push_back(fmt::format("{}_{}", where, what));
  names.insert(names.end(),
               {"queues", "rate_million_per_s", "out_of_place_cpu_us", "in_place_cpu_us"});
  return joined(names);
}

std::string csv_line(const std::vector<row>& line, int n_pes, std::string_view device) {
  const row& first = line.front();
  std::vector<std::string> fields = {first.collective,
                                     fmt::format("{}", n_pes),
                                     std::string(device),
                                     fmt::format("{}", first.bytes),
                                     fmt::format("{}", first.count),
                                     first.type,
                                     first.redop,
                                     fmt::format("{}", first.root),
                                     first.algo,
                                     first.proto};
  for (std::size_t i = 0; i < 2; ++i) {
    if (i >= line.size()) {
      fields.insert(fields.end(), 5, "");
      continue;
    }
    const row& one = line[i];
    fields.insert(fields.end(),
                  {number(one.time_us), number(one.latency_us), number(one.algbw),
                   number(one.busbw), one.wrong ? fmt::format("{}", *one.wrong) : ""});
  }
  const bool rates = first.queues > 0;
  fields.push_back(rates ? fmt::format("{}", first.queues) : "");
  fields.push_back(rates ? number(first.rate) : "");
  for (std::size_t i = 0; i < 2; ++i) {
    const auto cpu_us = i < line.size() ? line[i].cpu_us : std::nullopt;
    fields.push_back(cpu_us ? number(*cpu_us) : "");
  }
  return joined(fields);
}

}  // namespace perf
