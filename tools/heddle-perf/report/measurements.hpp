// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace perf::report {

/// What a curve is of; in the order of a legend.
enum class role {
  heddle,   ///< as it runs by default
  variant,  ///< heddle, made to run otherwise
  peer,     ///< another library
  limit     ///< what the bare machine does
};

struct point {
  std::size_t bytes = 0;
  double time_us = 0;
  double busbw = 0;            ///< GB/s; 0: has no meaning here
  std::string note;            ///< of which way it is, where the curve is the best of several
  std::vector<double> rounds;  ///< the times of which time_us is the median; 0: none in that round
};

/// One contender; the points by size.
struct curve {
  std::string name;
  role of = role::peer;
  std::vector<point> points;
  /// For each round what the bare machine took just before and after: it shows whether two
  /// contenders met the same state of the machine. May be empty.
  std::vector<std::vector<double>> probes;

  /// Null if there is no point of that size.
  [[nodiscard]] const point* at(std::size_t bytes) const;
};

/// heddle's time over another's.
struct ratio {
  std::size_t bytes = 0;
  double value = 0;
  std::string against;
};

/// Ratios of several sizes.
struct ratio_summary {
  double mean = 0;  ///< geometric
  ratio worst;
};

/// Contenders that did the same.
struct comparison {
  std::string title;
  std::vector<curve> curves;

  /// Of all curves, ascending.
  [[nodiscard]] std::vector<std::size_t> sizes() const;
  /// Whether there is something to draw: two sizes that a logarithmic axis can show.
  [[nodiscard]] bool has_curves() const;
  /// At each size that heddle and one of `theirs` have: over the best of them.
  [[nodiscard]] std::vector<ratio> ratios(role theirs) const;
  /// In the order of a legend: by role, then as they were measured.
  void sort_curves();
};

/// As bench/run.py decides its rules (bench/runner/rules.py, compare): the median of the ratios
/// within each round, but for rounds in which the machine changed, unless these are most.
std::optional<double> time_ratio(const curve& ours, const curve& theirs, std::size_t bytes);

/// The middle one, or the mean of the two in the middle; 0 of none.
double median(std::vector<double> values);

std::optional<ratio_summary> summarize(const std::vector<ratio>& ratios);

/// What was measured in one go.
struct block {
  std::string title;
  std::vector<comparison> comparisons;
};

using fact = std::pair<std::string, std::string>;

/// A file, and how what it holds was measured.
struct run {
  std::string file;
  std::vector<fact> facts;  ///< machine, date, command and version first
};

/// A speed rule of bench/run.py.
struct verdict {
  std::string rule;
  std::string limit;
  std::string found;
  std::string word;  ///< PASS, FAIL or SKIP
};

/// What one page section shows: a file of bench/run.py, or all files of heddle-perf.
struct section {
  std::string title;
  std::vector<run> runs;
  std::vector<verdict> verdicts;
  std::vector<block> blocks;
  std::vector<fact> numbers;          ///< that are no times, with their names
  std::vector<std::string> warnings;  ///< failed runs and wrong results
};

}  // namespace perf::report
