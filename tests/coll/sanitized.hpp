// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>

namespace heddle::testing {

/// Set by the sanitizers (./dev test), which need fewer cases of the same code.
inline bool is_sanitized() { return std::getenv("HEDDLE_DEV_TEST_THREADS") != nullptr; }
inline int block_threads() {
  return is_sanitized() ? std::atoi(std::getenv("HEDDLE_DEV_TEST_THREADS")) : 1;
}

}  // namespace heddle::testing
