// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "../output.hpp"
#include "../timing.hpp"
#include "collective_names.hpp"

/// What the GPU's benchmark programs share: options and how long they measure.
namespace bench {

/// Batches long enough that starting a kernel and waiting for it is lost in them. The first ones
/// bring the GPU's clock up.
inline effort gpu_effort() { return {.batch_us = 5'000, .batches = 5, .warm_up_us = 15'000}; }

struct gpu_options {
  int pes = 2;
  std::size_t max_bytes = 256 << 20;
  gpu_collective collective = gpu_collective::all_reduce;
  bool processes = false;  ///< PEs are one each, and not threads
  bool graph = false;      ///< calls from a captured CUDA graph too
  bool smoke = false;      ///< few bytes and rounds: shows that the program works, measures nothing
  effort measure = gpu_effort();

  static gpu_options parse(int argc, char** argv) {
    gpu_options result;
    for (int i = 1; i < argc; ++i) {
      const std::string_view name = argv[i];
      const bool last = i + 1 == argc;
      if (name == "--graph") {
        result.graph = true;
      } else if (name == "--processes") {
        result.processes = true;
      } else if (name == "--smoke") {
        result.smoke = true;
        result.max_bytes = 4096;
        result.measure = {.batch_us = 1, .batches = 1, .max_iterations = 8, .warm_up_us = 0};
      } else if (name == "--pes" && !last) {
        result.pes = static_cast<int>(number(argv[++i]));
      } else if (name == "--max" && !last) {
        result.max_bytes = number(argv[++i]);
      } else if (name == "--collective" && !last) {
        result.collective = collective_called(argv[++i]);
      } else {
        throw std::invalid_argument(std::string(name) +
                                    ": the options are --pes N, --max BYTES, --collective NAME, "
                                    "--processes, --graph and --smoke");
      }
    }
    return result;
  }

  /// Those of `sizes` that are to be measured.
  [[nodiscard]] std::vector<std::size_t> up_to_max(std::vector<std::size_t> sizes) const {
    std::erase_if(sizes, [&](std::size_t bytes) { return bytes > max_bytes; });
    return sizes;
  }

 private:
  static std::size_t number(const char* text) {
    char* end = nullptr;
    const unsigned long long value = std::strtoull(text, &end, 10);
    if (value == 0 || *end != '\0')
      throw std::invalid_argument(std::string(text) + " is not a number from 1 up");
    return value;
  }
};

}  // namespace bench
