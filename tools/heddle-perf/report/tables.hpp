// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "measurements.hpp"

/// The parts of the page that are tables.
namespace perf::report {

/// All numbers of what has curves: times, bus bandwidths and ratios of each size.
std::string numbers_table(const comparison& compared);

/// What was measured at single sizes: a line each.
std::string single_sizes_table(const std::vector<const comparison*>& compared);

/// Names beside values.
std::string facts_table(const std::vector<fact>& facts);

std::string verdicts_table(const std::vector<verdict>& verdicts);

/// "0.45"; of peers marked as better or worse than 1, which no limit is to be beaten by.
std::string ratio_mark(double value, role theirs);

}  // namespace perf::report
