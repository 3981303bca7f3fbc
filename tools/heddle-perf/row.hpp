// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace perf {

/// One measurement. Bandwidths in GB/s (1e9), times in microseconds. A time is one of all PEs, as
/// the options say: the slowest PE's, if they say nothing.
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
  bool is_forced = false;        ///< to go that way
  double time_us = 0;            ///< of an operation, back to back: the median over batches
  double latency_us = 0;         ///< of one by itself, after a barrier: the median
  std::optional<double> cpu_us;  ///< of the host until it is issued, back to back; if asked for
  double algbw = 0;
  double busbw = 0;
  int queues = 0;                    ///< of rate
  double rate = 0;                   ///< of rate: million operations a second, of all queues
  std::optional<std::size_t> wrong;  ///< elements, over all PEs; empty if not checked

  /// The times back to back are of so many operations.
  void divide_times(double operations) {
    time_us /= operations;
    if (cpu_us) *cpu_us /= operations;
  }
  /// Where `share` of the size crosses a PE's links. Of time_us.
  void set_bandwidth(double share = 1) {
    algbw = static_cast<double>(bytes) / time_us / 1e3;
    busbw = algbw * share;
  }
};

}  // namespace perf
