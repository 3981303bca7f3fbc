// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <heddle/heddle.hpp>
#include <initializer_list>
#include <mutex>
#include <string>
#include <vector>

#include "bootstrap/environment_variable.hpp"
#include "doctest/cut_short.hpp"
#include "doctest/run_pes.hpp"

/// For tests on the device that HEDDLE_DEVICE chooses.
namespace heddle::testing {

inline bool on_gpu() {
  const char* device = std::getenv("HEDDLE_DEVICE");
  return device && std::string(device).rfind("cuda", 0) == 0;
}

/// Whether the variable is set, and not to "0".
inline bool is_asked_for(const char* variable) {
  const char* value = std::getenv(variable);
  return value && *value && std::string(value) != "0";
}

inline std::vector<int> fewer_if_cut_short(std::initializer_list<int> all) {
  return is_cut_short() ? pe_counts({3}) : pe_counts(all);
}
inline std::size_t less_if_cut_short(std::size_t all) {
  return is_cut_short() ? std::min<std::size_t>(all, 9'001) : all;
}

/// Numbers of PEs that a case goes through with all that it has, and, unless one is chosen or it is
/// cut short, the others up to 8, briefly: those differ in rounds and remainders alone.
struct some_pes {
  int n;
  bool briefly;
};
inline std::vector<some_pes> up_to_eight(const std::vector<int>& wholly) {
  std::vector<some_pes> all;
  for (const int n : wholly) all.push_back({n, false});
  if (is_cut_short() || pe_counts({1, 2}).size() == 1) return all;
  for (int n = 1; n <= 8; ++n)
    if (std::find(wholly.begin(), wholly.end(), n) == wholly.end()) all.push_back({n, true});
  return all;
}

/// Of a block: warps on a GPU, few real threads on the host.
inline int threads() { return on_gpu() ? 256 : 4; }

/// run_pes of teams of more than 64 PEs, which a GPU does not have: each team has memory for all of
/// them, so there are few teams, and heaps are small.
template <class Body>
void run_many_pes(int n_pes, const Body& body) {
  const environment_variable heap("HEDDLE_HEAP_SIZE", "256M");
  const environment_variable teams("HEDDLE_MAX_TEAMS", "2");
  run_pes(n_pes, body);
}

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
