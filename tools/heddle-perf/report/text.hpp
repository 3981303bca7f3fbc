// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// Numbers and text as the page shows them.
namespace perf::report {

/// For HTML, in attributes too; characters that HTML does not have are replaced.
std::string escape(std::string_view text);

/// "8 B", "4 KiB", "64 MiB"; what is no whole number of these has a decimal.
std::string size_text(std::size_t bytes);

/// Three digits, thousands apart: "0.360", "12.3", "2,114".
std::string number_text(double value);

}  // namespace perf::report
