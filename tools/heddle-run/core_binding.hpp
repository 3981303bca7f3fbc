// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <vector>

#include "options.hpp"

namespace heddle::run {

/// The processors of each PE, empty for PEs that are not bound. Only cores that this process may
/// use count. Throws heddle::error if cores were asked for and there are too few.
std::vector<cpu_set_t> choose_cores(binding wanted, int size);

}  // namespace heddle::run
