// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// A PE that says on which processors its proxy's thread may run, and its own:
// "PE 0: proxy on 1, main on 0-1".
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <heddle/heddle.hpp>
#include <string>
#include <thread>

namespace {

std::string processors_of(const std::filesystem::path& thread) {
  std::ifstream status(thread / "status");
  const std::string key = "Cpus_allowed_list:\t";
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key)) return line.substr(key.size());
  return "unknown";
}

/// The thread takes its name when it first runs, which on a busy machine is later than the network
/// is used: others drive it meanwhile. "none" if there is no such thread within ten seconds.
std::string processors_of_proxy() {
  using clock = std::chrono::steady_clock;
  for (const auto end = clock::now() + std::chrono::seconds(10); clock::now() < end;) {
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
      std::string name;
      std::ifstream(thread.path() / "comm") >> name;
      if (name == "heddle-proxy") return processors_of(thread.path());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return "none";
}

}  // namespace

int main() try {
  const heddle::runtime self;
  std::printf("PE %d: proxy on %s, main on %s\n", self.my_pe(), processors_of_proxy().c_str(),
              processors_of("/proc/self").c_str());
  return 0;
} catch (const heddle::error& failure) {
  std::printf("WRONG: %s\n", failure.what());
  return 1;
}
