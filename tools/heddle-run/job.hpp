// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"

namespace heddle::run {

/// Runs the job to its end and returns the status to exit with: 0, the first failing PE's status
/// (128 + N for signal N), or 124 after --timeout. Throws program_error and heddle::error for what
/// cannot be started.
int run_job(const options& chosen);

}  // namespace heddle::run
