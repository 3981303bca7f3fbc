// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

namespace heddle {

/// "3, 5-7" for the ascending ranks {3, 5, 6, 7}; past `most` runs the rest is "and N more".
std::string format_ranks(std::span<const int> ranks, int most = 16);

/// "rank 3" or "ranks 3, 5-7".
std::string name_ranks(std::span<const int> ranks);

}  // namespace heddle
