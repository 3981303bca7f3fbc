// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "support/last_cache.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>

#include "support/environment.hpp"

namespace heddle {

namespace {

struct cache {
  int level = 0;
  std::size_t bytes = 0;
  std::size_t processors = 1;  ///< that this system has of those that share it
};

/// "0-1,64": how many.
std::size_t count_processors(const std::string& list) {
  std::size_t count = 0;
  std::size_t at = 0;
  while (at < list.size()) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    const std::string range = list.substr(at, end - at);
    const std::size_t dash = range.find('-');
    const int first = std::atoi(range.c_str());
    const int last = dash == std::string::npos ? first : std::atoi(range.c_str() + dash + 1);
    count += last >= first ? static_cast<std::size_t>(last - first + 1) : 1;
    at = end + 1;
  }
  return std::max<std::size_t>(count, 1);
}

cache read_cache(int index) {
  const std::string folder =
      "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
  const auto read = [&](const char* name) {
    std::string text;
    std::ifstream(folder + name) >> text;
    return text;
  };
  return {.level = std::atoi(read("level").c_str()),
          .bytes = parse_bytes(read("size")).value_or(0),
          .processors = count_processors(read("shared_cpu_list"))};
}

}  // namespace

std::size_t last_cache_bytes() {
  cache second;
  cache last;
  for (int index = 0; index < 8; ++index) {
    const cache found = read_cache(index);
    if (found.level == 2) second = found;
    if (found.bytes > 0 && found.level >= last.level) last = found;
  }
  if (last.bytes == 0) return std::size_t{32} << 20;
  // No processor has so much for itself: dozens share it, of other virtual machines. Two with 2 MiB
  // of their own and 105 MiB in common are best off with streaming stores from results of 2 MiB on
  // (bench/run.py --block all_reduce).
  constexpr std::size_t most_of_processor = std::size_t{16} << 20;
  if (last.bytes / last.processors <= most_of_processor) return last.bytes;
  return std::clamp(3 * second.bytes, std::size_t{4} << 20, last.bytes);
}

}  // namespace heddle
