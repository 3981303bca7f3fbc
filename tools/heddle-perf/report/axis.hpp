// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace perf::report {

/// A line of the grid; without a label where that would touch another.
struct tick {
  double value = 0;
  std::string label;
};

/// Where values are between two ends of a drawing, and its ticks.
class axis {
 public:
  /// Powers of two with the smallest and the largest labelled; both above 0.
  static axis of_sizes(std::size_t least, std::size_t most);
  /// Logarithmic, from 1, 2 or 5 times a power of ten to another; both above 0.
  static axis of_times(double least_us, double most_us);
  /// Linear, from 0 to a round number.
  static axis of_bandwidths(double most);

  /// 0 at the low end, 1 at the high one.
  [[nodiscard]] double place(double value) const;
  [[nodiscard]] const std::vector<tick>& ticks() const { return ticks_; }

 private:
  axis(double low, double high, bool logarithmic)
      : low_(low), high_(high), logarithmic_(logarithmic) {}

  double low_;
  double high_;
  bool logarithmic_;
  std::vector<tick> ticks_;
};

}  // namespace perf::report
