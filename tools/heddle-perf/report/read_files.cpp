// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "read_files.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <stdexcept>

#include "json_value.hpp"
#include "read_bench.hpp"
#include "read_perf.hpp"

namespace perf::report {

namespace {

constexpr const char* expected = "what heddle-perf --json or bench/run.py writes";

[[noreturn]] void fail(const std::string& path, const std::string& why) {
  throw std::runtime_error(fmt::format("{}: {}", path, why));
}

std::string content_of(const std::string& path) {
  if (std::filesystem::is_directory(path)) fail(path, "is a folder, expected a file");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  if (file) content << file.rdbuf();
  if (!file || file.bad())
    fail(path, fmt::format("cannot be read: {}", std::strerror(errno ? errno : EIO)));
  return content.str();
}

nlohmann::ordered_json parse(const std::string& path) {
  const auto text = content_of(path);
  if (text.empty()) fail(path, fmt::format("is empty, expected {}", expected));
  try {
    return nlohmann::ordered_json::parse(text);
  } catch (const nlohmann::json::exception& problem) {
    const std::string what = problem.what();  // "[json.exception.parse_error.101] parse error at"
    const auto name = what.find("] ");
    fail(path, fmt::format("is no JSON, expected {}: {}", expected,
                           name == std::string::npos ? what : what.substr(name + 2)));
  }
}

/// The names of the files, or the paths where names are the same.
std::vector<std::string> labels_of(const std::vector<std::string>& paths) {
  std::vector<std::string> labels;
  std::set<std::string> seen;
  for (const auto& path : paths) labels.push_back(std::filesystem::path(path).filename().string());
  if (std::set<std::string>(labels.begin(), labels.end()).size() < labels.size()) labels = paths;
  for (const auto& each : labels)
    if (!seen.insert(each).second) fail(each, "is given twice");
  return labels;
}

}  // namespace

std::vector<section> read_files(const std::vector<std::string>& paths) {
  const auto labels = labels_of(paths);
  std::vector<perf_run> runs;
  std::vector<section> sections;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const auto document = parse(paths[i]);
    const json_value file(document, paths[i]);
    if (file.has("rows")) {
      runs.push_back(read_perf(file, labels[i]));
    } else if (file.has("about") && file.has("results")) {
      sections.push_back(read_bench(file, labels[i]));
      if (sections.back().blocks.empty() && sections.back().numbers.empty())
        file["results"].fail("at least one measurement");
    } else {
      fail(paths[i], fmt::format("expected {}: an object with \"rows\", or with \"about\" and "
                                 "\"results\"",
                                 expected));
    }
  }
  if (!runs.empty()) sections.insert(sections.begin(), combine(runs));
  return sections;
}

}  // namespace perf::report
