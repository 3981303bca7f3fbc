// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "measurements.hpp"
#include "palette.hpp"

namespace perf::report {

enum class quantity { time, bandwidth };

/// Whether the comparison has a curve of it.
bool can_draw(const comparison& compared, quantity what);

/// The curves as an SVG element; `id` is the page's own for it.
std::string draw(const comparison& compared, quantity what, const palette& looks,
                 const std::string& id);

/// The contenders in order, each with its line and marker.
std::string legend(const comparison& compared, const palette& looks);

}  // namespace perf::report
