// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "output.hpp"
#include "timing.hpp"

/// What the benchmark programs share beside the timing: their options.
namespace bench {

struct options {
  std::size_t min_bytes = 8;
  std::size_t max_bytes = 64 << 20;
  int step = 2;                     ///< each size is so many times the one before
  std::vector<std::size_t> listed;  ///< these sizes instead
  bool fresh = false;
  std::vector<std::string> collectives;  ///< these alone, where a program measures several
  effort measure;

  /// Reads the command line. A wrong one ends the program: these are programs, not the library.
  static options parse(int argc, char** argv, const std::string& description);

  [[nodiscard]] std::vector<std::size_t> sizes() const {
    if (!listed.empty()) return listed;
    std::vector<std::size_t> result;
    for (std::size_t bytes = min_bytes; bytes <= max_bytes; bytes *= static_cast<std::size_t>(step))
      result.push_back(bytes);
    return result;
  }
};

/// Which processors this process may use, so that the reader of the results can check the binding.
inline void report_binding(int pe) {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::string list;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) list += (list.empty() ? "" : ", ") + std::to_string(cpu);
  std::printf("{\"what\": \"binding\", \"pe\": %d, \"cpus\": [%s]}\n", pe, list.c_str());
  std::fflush(stdout);
}

}  // namespace bench
