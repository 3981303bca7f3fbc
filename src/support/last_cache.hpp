// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace heddle {

/// Bytes of the last cache that the first processor shares with others, as far as a job can count
/// on them; 32 MiB where the system does not tell. From sysfs: sysconf takes the whole package's on
/// some processors, and hwloc takes milliseconds to start.
std::size_t last_cache_bytes();

}  // namespace heddle
