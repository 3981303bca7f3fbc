// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "support/unique_fd.hpp"

namespace heddle::verbs {

/// Several descriptors and a timer as one descriptor that becomes readable with any of them.
class wait_set {
 public:
  using clock = std::chrono::steady_clock;

  /// Throws HEDDLE_ERROR_SYSTEM.
  wait_set();
  void add(int descriptor);
  [[nodiscard]] int descriptor() const { return all_.get(); }
  /// Readable from this time on; max(): never.
  void wake_at(clock::time_point time);
  [[nodiscard]] bool has_event() const;

 private:
  unique_fd all_, timer_;
  clock::time_point wakes_at_ = clock::time_point::max();
};

}  // namespace heddle::verbs
