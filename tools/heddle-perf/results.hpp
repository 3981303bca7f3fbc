// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/runtime.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "options.hpp"
#include "row.hpp"

namespace perf {

/// Prints the table (on PE 0) and keeps its lines for the JSON and the CSV.
class results {
 public:
  results(const options& chosen, const heddle::runtime& runtime);

  void start();
  /// Of all sizes, counted from 0.
  void begin_cycle(int cycle) const;
  /// What is added from here on is measured by it.
  void begin_way(const way& forced);
  /// A line of the table: out of place, and in place where the operation has it.
  void add(std::vector<row> line);
  [[nodiscard]] bool empty() const { return lines_.empty(); }
  /// On a terminal: what is being measured, to be overwritten by the next line.
  void progress(const std::string& what) const;
  /// The closing lines, and the files. False if any element was wrong, or a way that was forced not
  /// taken.
  bool finish();

 private:
  void label(row& forced);
  void write_json() const;
  void write_csv() const;

  const options& chosen_;
  const bool speaks_;
  const int n_pes_;
  const std::string device_;
  std::optional<way> forced_;
  std::set<std::string> not_taken_;  ///< what went which way instead
  std::vector<std::vector<row>> lines_;
};

}  // namespace perf
