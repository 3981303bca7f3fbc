// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "support/near_device.hpp"

#include <filesystem>
#include <fstream>

#include "support/processor_list.hpp"

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

}  // namespace

near_device::near_device(const std::string& folder) {
  if (folder.empty() || ::sched_getaffinity(0, sizeof before_, &before_) != 0) return;
  cpu_set_t set = set_of_processors(local_processors(folder));
  CPU_AND(&set, &set, &before_);
  if (CPU_COUNT(&set) > 0 && ::sched_setaffinity(0, sizeof set, &set) == 0)
    processors_ = list_of_processors(set);
}

near_device::~near_device() {
  if (!processors_.empty()) (void)::sched_setaffinity(0, sizeof before_, &before_);
}

}  // namespace heddle
