// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

/// How every contender is timed. The same code is compiled into the bare, the MPI and the heddle
/// programs, so that they differ in the operation alone.
namespace bench {

inline double now_us() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

inline double median(std::vector<double> samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

/// How long to measure one point.
struct effort {
  double batch_us = 1500;
  int batches = 5;
  std::uint64_t max_iterations = 20'000;
};

/// Microseconds that one iteration takes: the median over batches of the slowest process.
///
/// `run(n)` does n iterations. `agree(x)` returns the largest x of all processes, to all of them,
/// and is a barrier; its answer decides the number of iterations, hence they all do the same.
template <class Run, class Agree>
double time_per_iteration(Run run, Agree agree, const effort& effort) {
  const auto batch = [&](std::uint64_t iterations) {
    agree(0);
    const double start = now_us();
    run(iterations);
    return agree(now_us() - start);
  };

  std::uint64_t iterations = 1;
  double elapsed = batch(iterations);
  while (elapsed < effort.batch_us / 4 && iterations < effort.max_iterations) {
    iterations *= 8;
    elapsed = batch(iterations);
  }
  const double wanted = effort.batch_us / elapsed * static_cast<double>(iterations);
  iterations = static_cast<std::uint64_t>(
      std::clamp(wanted, 1.0, static_cast<double>(effort.max_iterations)));

  std::vector<double> samples;
  for (int i = 0; i < effort.batches; ++i)
    samples.push_back(batch(iterations) / static_cast<double>(iterations));
  return median(std::move(samples));
}

}  // namespace bench
