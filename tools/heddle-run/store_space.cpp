// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "store_space.hpp"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <cstdint>
#include <filesystem>

namespace heddle::run {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

/// Of libpmix 4.2's ds21: two segments of 4 MiB, and locks, 128 bytes for each PE.
std::uint64_t store_size(int size) {
  return 8 * mib + mib / 16 + 128 * static_cast<std::uint64_t>(size);
}

}  // namespace

std::string store_shortage(const std::string& folder, int size) {
  struct statvfs disk {};
  // Without a limit, a tmpfs says that it has no blocks at all.
  if (::statvfs(folder.c_str(), &disk) != 0 || disk.f_blocks == 0) return {};
  const std::uint64_t free = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  const auto needed = store_size(size);
  if (free >= needed) return {};
  return fmt::format(
      "TMPDIR: {} has {:.1f} MiB free, and PMIx needs about {} for the job; set TMPDIR to a folder "
      "with more",
      std::filesystem::path(folder).parent_path().string(), static_cast<double>(free) / mib,
      (needed + mib - 1) / mib);
}

}  // namespace heddle::run
