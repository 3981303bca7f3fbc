// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

/// What bench/run.py's names stand for.
namespace perf::report {

/// The PEs of a block: the number that its name ends in, or what run.py says where it ends in none.
int pes_of(std::string_view block);

/// What a block is of, as a title.
std::string block_title(std::string_view block);

/// What is measured under `what`, for a title or the line of a table.
std::string operation_title(std::string_view what);

/// What a measurement is compared with: itself, or what it is the bare limit of.
std::vector<std::string> subjects_of(std::string_view what);

/// What crosses a PE's links, in parts of the size: nccl-tests' factor.
double bus_factor(std::string_view what, int n_pes);

}  // namespace perf::report
