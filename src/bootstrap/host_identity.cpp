// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/host_identity.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "support/throw_error.hpp"

namespace heddle {
namespace {

std::string boot_id() {
  const char* path = "/proc/sys/kernel/random/boot_id";
  std::ifstream file(path);
  std::string id;
  if (!(file >> id) || !std::all_of(id.begin(), id.end(),
                                    [](unsigned char c) { return std::isalnum(c) || c == '-'; }))
    throw_error(HEDDLE_ERROR_SYSTEM,
                "asked {} for this machine's boot id, found \"{}\"; mount /proc in this container",
                path, id);
  return id;
}

unsigned long long namespace_inode(const char* path) {
  struct stat status {};
  if (::stat(path, &status) != 0)
    throw_system_error(errno, "asked {} which namespace this process is in; mount /proc here",
                       path);
  return status.st_ino;
}

}  // namespace

std::string host_identity() {
  return fmt::format("{}.net{}.pid{}", boot_id(), namespace_inode("/proc/self/ns/net"),
                     namespace_inode("/proc/self/ns/pid"));
}

std::string_view machine_of(std::string_view host) { return host.substr(0, host.find('.')); }

}  // namespace heddle
