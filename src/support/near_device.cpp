// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "support/near_device.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace heddle {
namespace {

/// The kernel tells it for devices of a bus, not for what hangs on those.
std::string local_processors(const std::string& folder) {
  std::error_code none;
  auto device = std::filesystem::canonical(folder, none);
  std::string list;
  for (; !none && device.has_relative_path() && list.empty(); device = device.parent_path())
    std::ifstream(device / "local_cpulist") >> list;
  return list;
}

/// Of "0-3,8".
cpu_set_t set_of(const std::string& list) {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::istringstream text(list);
  for (std::string range; std::getline(text, range, ',');) {
    std::istringstream numbers(range);
    unsigned first = 0;
    if (!(numbers >> first)) continue;
    unsigned last = first;
    if (numbers.get() == '-') numbers >> last;
    for (unsigned i = first; i <= last && i < CPU_SETSIZE; ++i) CPU_SET(i, &set);
  }
  return set;
}

/// As set_of reads it.
std::string list_of(const cpu_set_t& set) {
  std::string list;
  for (std::size_t first = 0; first < CPU_SETSIZE; ++first) {
    if (!CPU_ISSET(first, &set)) continue;
    std::size_t last = first;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set)) ++last;
    list += fmt::format("{}{}", list.empty() ? "" : ",", first);
    if (last > first) list += fmt::format("-{}", last);
    first = last;
  }
  return list;
}

}  // namespace

near_device::near_device(const std::string& folder) {
  if (folder.empty() || ::sched_getaffinity(0, sizeof before_, &before_) != 0) return;
  cpu_set_t set = set_of(local_processors(folder));
  CPU_AND(&set, &set, &before_);
  if (CPU_COUNT(&set) > 0 && ::sched_setaffinity(0, sizeof set, &set) == 0)
    processors_ = list_of(set);
}

near_device::~near_device() {
  if (!processors_.empty()) (void)::sched_setaffinity(0, sizeof before_, &before_);
}

}  // namespace heddle
