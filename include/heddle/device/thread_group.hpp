// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/platform.hpp>

namespace heddle {

/// One thread: synchronises with nobody.
class thread_group {
 public:
  HEDDLE_FN static constexpr int size() { return 1; }
  HEDDLE_FN static constexpr int rank() { return 0; }
  HEDDLE_FN void sync() const {}
  template <class T>
  HEDDLE_FN T broadcast(T value) const {
    return value;
  }
  HEDDLE_FN bool all(bool condition) const { return condition; }
};

}  // namespace heddle
