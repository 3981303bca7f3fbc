// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// What every bootstrap must do, once. A test program brings a way to start a job of n ranks and
// runs each case with it, so that the same cases hold for threads, processes and launchers. A case
// is a function that every rank runs; it reports by throwing, never by doctest's macros, because
// most ranks are not in the process that reports.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/bootstrap.hpp"

namespace heddle::conformance {

/// One rank's view of a case.
struct rank_context {
  bootstrap& self;
  /// Ends this rank as a crash would: no leave(), no further code of the case. Does not return.
  std::function<void()> die;
};

struct test_case {
  std::string_view name;
  std::vector<int> sizes;
  /// How long the slowest rank may take, once it has joined, as a thread: what takes longer was
  /// saved by some deadline, though it came to the right end.
  double seconds;
  void (*body)(rank_context&);
};

/// A starter throws this in a thread rank's die().
struct rank_death {};

inline void expect(bool condition, const std::string& text) {
  if (!condition) throw std::runtime_error(text);
}

const std::vector<test_case>& test_cases();
/// The case of that name; throws if there is none.
const test_case& find_case(std::string_view name);

/// Runs the body, then leaves in good order. Used by every starter that has the rank in its hands.
void run_rank(bootstrap& self, const test_case& chosen, std::function<void()> die);

}  // namespace heddle::conformance
