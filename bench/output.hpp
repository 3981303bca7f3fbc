// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdio>
#include <exception>
#include <string>

/// What a benchmark program says: one JSON object a line.
namespace bench {

/// One measured point; printed by PE 0.
inline void report(const std::string& what, const std::string& variant, std::size_t bytes,
                   double us) {
  std::printf("{\"what\": \"%s\", \"variant\": \"%s\", \"bytes\": %zu, \"us\": %.5f}\n",
              what.c_str(), variant.c_str(), bytes, us);
  std::fflush(stdout);
}

/// A number that is no time.
inline void report_fact(const char* what, double value) {
  std::printf("{\"what\": \"%s\", \"value\": %.0f}\n", what, value);
  std::fflush(stdout);
}

/// Runs a program's body; what it throws becomes a message and an exit status.
template <class Body>
int run_program(const char* name, Body body) {
  try {
    body();
    return 0;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s: %s\n", name, failure.what());
    return 1;
  }
}

}  // namespace bench
