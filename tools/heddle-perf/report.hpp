// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/runtime.hpp>
#include <optional>
#include <string>
#include <vector>

#include "options.hpp"

namespace perf {

/// One measurement. Bandwidths in GB/s (1e9), times in microseconds.
struct row {
  std::string collective;
  std::size_t bytes = 0;
  std::size_t count = 0;
  std::string type;
  std::string redop = "none";
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

/// Prints the table (on PE 0) and keeps the rows for the JSON.
class report {
 public:
  report(const options& chosen, const heddle::runtime& runtime);

  void start();
  /// A line of the table: out of place, and in place where the operation has it.
  void add(const std::vector<row>& line);
  /// On a terminal: what is being measured, to be overwritten by the next line.
  void progress(const std::string& what) const;
  /// The closing lines, and the JSON file. False if any element was wrong.
  bool finish();

 private:
  void write_json() const;

  const options& chosen_;
  const bool speaks_;
  const int n_pes_;
  const std::string device_;
  std::vector<row> rows_;
};

}  // namespace perf
