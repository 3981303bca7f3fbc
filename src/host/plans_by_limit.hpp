// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

namespace heddle {

/// What a team has planned, apart for each limit of channels that its calls have had: a program may
/// give each call its own, and nothing is planned twice.
template <class Plans>
class plans_by_limit {
 public:
  plans_by_limit() = default;
  plans_by_limit(const plans_by_limit&) = delete;
  plans_by_limit& operator=(const plans_by_limit&) = delete;

  /// The plans of calls with that limit are used from now on.
  void set_limit(int channels) { current_ = &by_limit_[channels]; }
  /// All of them, whatever their limit.
  void forget() {
    for (auto& [limit, plans] : by_limit_) plans = {};
  }
  [[nodiscard]] Plans& operator*() { return *current_; }

 private:
  std::map<int, Plans> by_limit_;
  Plans* current_ = &by_limit_[0];
};

}  // namespace heddle
