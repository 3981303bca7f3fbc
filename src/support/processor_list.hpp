// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <string>

namespace heddle {

/// Processors as the kernel writes them, "0-3,8": as a set; what is no such list is left out, and
/// so are processors beyond a cpu_set_t.
cpu_set_t set_of_processors(const std::string& list);

/// As set_of_processors reads it.
std::string list_of_processors(const cpu_set_t& set);

}  // namespace heddle
