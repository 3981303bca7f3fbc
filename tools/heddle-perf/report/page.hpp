// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "measurements.hpp"

namespace perf::report {

/// The whole page (HTML 5): it needs no other file and no network.
std::string make_page(const std::vector<section>& sections);

}  // namespace perf::report
