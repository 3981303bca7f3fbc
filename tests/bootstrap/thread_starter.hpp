// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "bootstrap_conformance.hpp"

namespace heddle::conformance {

/// Runs `body(rank)` on `size` threads. Returns the failures, first come first, "" if none.
inline std::string run_on_all(int size, const std::function<void(int rank)>& body) {
  std::mutex mutex;
  std::string failures;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      try {
        body(rank);
      } catch (const rank_death&) {
      } catch (const std::exception& e) {
        std::lock_guard lock(mutex);
        failures += "rank " + std::to_string(rank) + ": " + e.what() + "\n";
      }
    });
  for (auto& thread : threads) thread.join();
  return failures;
}

/// What is added to the seconds of a case: 16 ranks may share two processors with other tests, and
/// run under a sanitizer.
inline constexpr double seconds_for_busy_processors = 10;

/// Runs `chosen` on `size` threads, each with the bootstrap that `join(rank)` gives it.
inline std::string run_on_threads(const test_case& chosen, int size,
                                  const std::function<std::unique_ptr<bootstrap>(int rank)>& join) {
  return run_on_all(size, [&](int rank) {
    auto self = join(rank);
    const auto start = std::chrono::steady_clock::now();
    run_rank(*self, chosen, [] { throw rank_death(); });
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    expect(took.count() < chosen.seconds + seconds_for_busy_processors,
           "it took " + std::to_string(took.count()) + " s, and may take " +
               std::to_string(chosen.seconds + seconds_for_busy_processors));
  });
}

/// Every case and size, each a doctest subcase; `run(case, size)` returns the failures.
template <class Run>
void check_all_cases(Run run) {
  for (auto& chosen : test_cases())
    for (int size : chosen.sizes) {
      CAPTURE(chosen.name);
      CAPTURE(size);
      CHECK(run(chosen, size) == "");
    }
}

}  // namespace heddle::conformance
