// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
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

inline constexpr int woken_runs = 15;

/// Microseconds that run() takes of one process while the other sleeps: the median of woken_runs,
/// each after a sleep of its own, long enough for what spins to fall asleep.
template <class Run>
double time_woken(Run run) {
  std::vector<double> samples;
  for (int i = 0; i < woken_runs; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    const double start = now_us();
    run();
    samples.push_back(now_us() - start);
  }
  return median(std::move(samples));
}

/// How long to measure one point.
struct effort {
  double batch_us = 1500;
  int batches = 5;
  std::uint64_t max_iterations = 20'000;
  double warm_up_us = 0;

  /// The same, for a point of so many bytes. Arrays that about fill a cache take some hundred
  /// passes until what stays in it has settled: at 8 MiB the first are slower by half.
  [[nodiscard]] effort for_size(std::size_t bytes) const {
    effort result = *this;
    if (bytes >= std::size_t{1} << 20) result.warm_up_us = 40 * batch_us;
    return result;
  }
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

  batch(1);  // what is touched for the first time takes as long as a warm-up, and warms nothing
  std::uint64_t iterations = 1;
  double elapsed = batch(iterations);
  while (elapsed < effort.batch_us / 4 && iterations < effort.max_iterations) {
    iterations *= 8;
    elapsed = batch(iterations);
  }
  const double each = elapsed / static_cast<double>(iterations);
  const auto lasting = [&](double us) {
    return static_cast<std::uint64_t>(
        std::clamp(us / each, 1.0, static_cast<double>(effort.max_iterations)));
  };
  if (effort.warm_up_us > elapsed) batch(lasting(effort.warm_up_us));
  iterations = lasting(effort.batch_us);

  std::vector<double> samples;
  for (int i = 0; i < effort.batches; ++i)
    samples.push_back(batch(iterations) / static_cast<double>(iterations));
  return median(std::move(samples));
}

}  // namespace bench
