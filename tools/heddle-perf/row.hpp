// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace perf {

/// One measurement. Bandwidths in GB/s (1e9), times in microseconds.
struct row {
  std::string collective;
  std::size_t bytes = 0;
  std::size_t count = 0;
  std::string type;
  std::string redop = "none";
  int root = -1;  ///< -1: the operation has none
  bool in_place = false;
  std::string algo = "none";
  std::string proto = "none";
  double time_us = 0;     ///< of a call, back to back: the slowest PE's median over batches
  double latency_us = 0;  ///< of a call by itself, after a barrier: the slowest PE's, median
  double algbw = 0;
  double busbw = 0;
  int queues = 0;                    ///< of rate
  double rate = 0;                   ///< of rate: million operations a second, of all queues
  std::optional<std::size_t> wrong;  ///< elements, over all PEs; empty if not checked
};

}  // namespace perf
