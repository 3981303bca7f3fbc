// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "json_value.hpp"
#include "measurements.hpp"

namespace perf::report {

/// What bench/run.py wrote (bench/runner/report.py, as_json) as a section of its own.
section read_bench(const json_value& file, const std::string& label);

}  // namespace perf::report
