// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// A PE that says on which processors its proxy's thread may run, and its own:
// "PE 0: proxy on 1, main on 0-1".
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <heddle/heddle.hpp>
#include <string>

namespace {

std::string processors_of(const std::filesystem::path& thread) {
  std::ifstream status(thread / "status");
  const std::string key = "Cpus_allowed_list:\t";
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key)) return line.substr(key.size());
  return "unknown";
}

/// "none" without such a thread.
std::string processors_of_proxy() {
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::ifstream(thread.path() / "comm") >> name;
    if (name == "heddle-proxy") return processors_of(thread.path());
  }
  return "none";
}

}  // namespace

int main() try {
  const heddle::runtime self;
  self.world().barrier();  // by the network: the thread has begun
  std::printf("PE %d: proxy on %s, main on %s\n", self.my_pe(), processors_of_proxy().c_str(),
              processors_of("/proc/self").c_str());
  return 0;
} catch (const heddle::error& failure) {
  std::printf("WRONG: %s\n", failure.what());
  return 1;
}
