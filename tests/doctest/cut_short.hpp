// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>

namespace heddle::testing {

/// Under the sanitizers (./dev test), where everything takes many times longer, tests are cut
/// short: more of the same code would hardly tell more. With HEDDLE_DEV_TEST_WHOLE they are not
/// (./dev check, under AddressSanitizer).
inline bool is_cut_short() {
  return std::getenv("HEDDLE_DEV_TEST_THREADS") && !std::getenv("HEDDLE_DEV_TEST_WHOLE");
}
/// Of a block: as many real threads as the sanitizers ask for, else `otherwise`.
inline int block_threads(int otherwise = 1) {
  const char* threads = std::getenv("HEDDLE_DEV_TEST_THREADS");
  return threads ? std::atoi(threads) : otherwise;
}

/// For a wait that is to pass its deadline, where what comes before it has the same one: longer
/// under the sanitizers.
inline double patient(double seconds) {
  return std::getenv("HEDDLE_DEV_TEST_THREADS") ? 2 * seconds : seconds;
}

}  // namespace heddle::testing
