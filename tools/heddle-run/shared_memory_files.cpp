// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "shared_memory_files.hpp"

#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

namespace heddle::run {

void remove_shared_memory_files(pid_t ended) {
  namespace fs = std::filesystem;
  const auto prefix = std::to_string(ended) + ":" + std::to_string(::getuid()) + ":";
  std::error_code ignored;  // what cannot be read or removed is not this job's
  std::vector<fs::path> left;
  for (fs::directory_iterator each("/dev/shm", ignored), end; !ignored && each != end;
       each.increment(ignored))
    if (each->path().filename().string().starts_with(prefix)) left.push_back(each->path());
  for (const auto& file : left) fs::remove(file, ignored);
}

}  // namespace heddle::run
