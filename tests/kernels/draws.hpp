// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <random>

namespace heddle::testing {

/// What should not matter to a call, drawn for each: the same on all PEs, which draw alike, and in
/// every run. Remainders of a call's number would leave together whatever comes round with them.
class draws {
 public:
  explicit draws(std::size_t seed) : random_(static_cast<std::mt19937::result_type>(seed)) {}

  /// 0 to n - 1.
  std::size_t below(std::size_t n) { return random_() % n; }
  bool one_in(std::size_t n) { return below(n) == 0; }

 private:
  std::mt19937 random_;
};

}  // namespace heddle::testing
