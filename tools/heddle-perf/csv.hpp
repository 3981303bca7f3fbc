// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "row.hpp"

namespace perf {

/// As a field of a line (RFC 4180): in quotes where it has a comma, a quote or an end of line.
std::string csv_field(std::string_view text);

/// The names of the columns, with their units; ends in a newline.
std::string csv_header();

/// A line of the table: out of place, then in place if there is one. What was not measured or not
/// checked is empty. Ends in a newline.
std::string csv_line(const std::vector<row>& line, int n_pes, std::string_view device);

}  // namespace perf
