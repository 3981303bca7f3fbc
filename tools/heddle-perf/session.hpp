// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <heddle/heddle.hpp>
#include <vector>

#include "options.hpp"
#include "report.hpp"

namespace perf {

inline double now_us() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

inline double median(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return samples.empty() ? 0 : samples[samples.size() / 2];
}

/// One PE's part of a run: what every operation needs.
struct session {
  const options& chosen;
  const heddle::runtime& runtime;
  heddle::team world;
  report& out;

  /// The largest of all PEs' values, on all of them: a barrier too.
  [[nodiscard]] double largest(double value) const {
    double result = 0;
    world.all_reduce(&value, &result, 1, heddle::op::max);
    return result;
  }
  [[nodiscard]] std::size_t total(std::size_t value) const {
    const auto mine = static_cast<std::int64_t>(value);
    std::int64_t result = 0;
    world.all_reduce(&mine, &result, 1, heddle::op::sum);
    return static_cast<std::size_t>(result);
  }

  /// Microseconds of one of the calls that run(n) makes back to back: the median over batches of
  /// the slowest PE. All PEs agree on the number of calls.
  template <class Run>
  double time_back_to_back(Run run) const {
    constexpr double batch_us = 2000;
    constexpr int batches = 5;
    const auto batch = [&](int calls) {
      world.barrier();
      const double start = now_us();
      run(calls);
      return largest(now_us() - start);
    };
    if (chosen.warmup > 0) run(chosen.warmup);
    int calls = chosen.iterations;
    if (calls == 0) {
      calls = 1;
      double elapsed = batch(calls);
      while (elapsed < batch_us / 4 && calls < 1 << 20) elapsed = batch(calls *= 4);
      calls = static_cast<int>(std::clamp(batch_us / elapsed * calls, 1.0, 1e6));
    }
    std::vector<double> samples;
    for (int i = 0; i < batches; ++i) samples.push_back(batch(calls) / calls);
    return median(std::move(samples));
  }

  /// Microseconds of a call by itself: prepare(i), a barrier, call(), finish(i); the median of the
  /// slowest PE.
  template <class Prepare, class Call, class Finish>
  double time_alone(std::size_t bytes, Prepare prepare, Call call, Finish finish) const {
    const int repeats = bytes >= std::size_t{16} << 20 ? 3 : bytes >= std::size_t{1} << 20 ? 7 : 21;
    std::vector<double> samples;
    for (int i = 0; i < repeats; ++i) {
      prepare(i);
      world.barrier();
      const double start = now_us();
      call();
      samples.push_back(largest(now_us() - start));
      finish(i);
    }
    return median(std::move(samples));
  }
};

void measure_all_reduce(const session& with);
void measure_put(const session& with);
void measure_get(const session& with);
void measure_signal(const session& with);
void measure_atomic(const session& with);
void measure_barrier(const session& with);

}  // namespace perf
