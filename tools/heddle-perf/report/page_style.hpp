// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace perf::report {

/// The page's style sheet: light and dark, wide and narrow.
extern const char* const page_style;
/// Shows the value of the point nearest to the pointer; without it the browser's own titles do.
extern const char* const page_script;

}  // namespace perf::report
