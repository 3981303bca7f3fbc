// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "json_value.hpp"
#include "measurements.hpp"

namespace perf::report {

/// What one `heddle-perf --json` wrote.
struct perf_run {
  struct line {
    std::string title;  ///< of what it is compared in: operation, type, reduction, PEs
    std::string way;    ///< of this line among them: the number of queues, or what was forced
    std::size_t bytes = 0;
    double time_us = 0;
    double latency_us = 0;
    double busbw = 0;
    bool in_place = false;
    std::string plan;  ///< algorithm and protocol
  };
  std::string label;
  std::vector<fact> facts;
  std::vector<line> lines;
  std::vector<std::string> warnings;
};

perf_run read_perf(const json_value& file, const std::string& label);

/// All runs as a section: what has the same operation, type, reduction and number of PEs is
/// compared; where that is in several runs the curves bear the files' names.
section combine(const std::vector<perf_run>& runs);

}  // namespace perf::report
