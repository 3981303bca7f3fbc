// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>

namespace heddle {

/// A point in time that a wait may not pass. Passed by value down a call chain, so that the parts
/// of one operation share one limit.
class deadline {
 public:
  using clock = std::chrono::steady_clock;

  static deadline after(std::chrono::duration<double> time) {
    return deadline(clock::now() + std::chrono::duration_cast<clock::duration>(time));
  }

  [[nodiscard]] bool passed() const { return clock::now() >= at_; }
  [[nodiscard]] clock::time_point at() const { return at_; }

  /// What is left, at least zero, in milliseconds rounded up: the argument that poll(2) takes.
  [[nodiscard]] int poll_milliseconds() const {
    auto left = std::chrono::ceil<std::chrono::milliseconds>(at_ - clock::now()).count();
    return static_cast<int>(std::clamp<long long>(left, 0, 1'000'000'000));
  }

 private:
  explicit deadline(clock::time_point at) : at_(at) {}
  clock::time_point at_;
};

}  // namespace heddle
