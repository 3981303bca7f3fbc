// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <heddle/heddle.hpp>
#include <initializer_list>
#include <mutex>
#include <string>
#include <vector>

/// For tests on the device that HEDDLE_DEVICE chooses, whose PEs are threads.
namespace heddle::testing {

inline bool on_gpu() {
  const char* device = std::getenv("HEDDLE_DEVICE");
  return device && std::string(device).rfind("cuda", 0) == 0;
}

/// How many PEs the cases run with: these, or those of ./dev gpu alone.
inline std::vector<int> pe_counts(std::initializer_list<int> all) {
  const char* chosen = std::getenv("HEDDLE_DEV_TEST_PES");
  return chosen ? std::vector<int>{std::atoi(chosen)} : std::vector<int>(all);
}

/// Of a block: warps on a GPU, few real threads on the host.
inline int threads() { return on_gpu() ? 256 : 4; }

// doctest counts on one thread at a time.
inline std::mutex checking;
inline void check(bool condition, const std::string& what) {
  const std::lock_guard lock(checking);
  CHECK_MESSAGE(condition, what);
}

template <class T>
std::vector<T> read(const stream& stream, const T* from, std::size_t n) {
  std::vector<T> values(n);
  stream.copy(values.data(), from, n);
  stream.synchronize();
  return values;
}

template <class T>
void write(const stream& stream, T* to, const std::vector<T>& values) {
  stream.copy(to, values.data(), values.size());
  stream.synchronize();
}

}  // namespace heddle::testing
