// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "measurements.hpp"

namespace perf::report {

/// Reads files of heddle-perf --json, which share the first section, and of bench/run.py, which
/// have one each. Throws std::runtime_error that names the file and what was expected of it.
std::vector<section> read_files(const std::vector<std::string>& paths);

}  // namespace perf::report
