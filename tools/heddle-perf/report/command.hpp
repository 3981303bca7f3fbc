// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace perf::report {

/// `heddle-perf report FILE... -o report.html`: argv[0] is "report". Needs no job. Prints what is
/// wrong and gives the status to exit with.
int run_command(int argc, char** argv);

}  // namespace perf::report
