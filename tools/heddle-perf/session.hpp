// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <heddle/heddle.hpp>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "graph.hpp"
#include "options.hpp"
#include "results.hpp"

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

/// Of one of the calls that are made back to back.
struct batch_times {
  double time_us = 0;
  std::optional<double> cpu_us;  ///< until the host has issued it
};

/// One PE's part of a run: what every operation needs. The same on every device: content that the
/// host has made or looks at is copied on the queue, unless the host has the memory itself.
class session {
 public:
  session(const options& given, const heddle::runtime& of, results& to)
      : chosen(given), runtime(of), world(of.world()), out(to) {}

  const options& chosen;
  const heddle::runtime& runtime;
  const heddle::team world;
  results& out;
  const bool on_host = runtime.device() == "host";
  /// That of the queue, where graphs are asked for.
  const std::optional<capturable_stream> captures = make_capturable();
  /// Of all calls: the host device's default stream runs them in this thread, a GPU's other
  /// streams take them without waiting.
  const heddle::stream queue = captures  ? runtime.stream_from_cuda(captures->get())
                               : on_host ? runtime.default_stream()
                                         : runtime.create_stream();
  /// Of the block that makes one-sided calls.
  const int block_threads = on_host ? 1 : 512;

  /// What was put on the queue has run.
  void finish() const {
    if (!on_host) queue.synchronize();
  }
  /// fill(content) makes n elements at `to`.
  template <class T, class Fill>
  void write(T* to, std::size_t n, Fill fill) const {
    if (n == 0) return;
    if (on_host) return fill(to);
    std::vector<T> content(n);
    fill(content.data());
    queue.copy(to, content.data(), n);
    queue.synchronize();
  }
  /// look(content) of the n elements at `from`.
  template <class T, class Look>
  [[nodiscard]] std::size_t read(const T* from, std::size_t n, Look look) const {
    if (n == 0) return 0;
    if (on_host) return look(from);
    std::vector<T> content(n);
    queue.copy(content.data(), from, n);
    queue.synchronize();
    return look(static_cast<const T*>(content.data()));
  }

  /// The largest of all PEs' values, on all of them: a barrier too.
  [[nodiscard]] double largest(double value) const {
    return reduced(real_, value, heddle::op::max);
  }
  /// What stands for all PEs' times, likewise.
  [[nodiscard]] double average(double time) const {
    switch (chosen.average) {
      case averaging::pe_0:
        return reduced(real_, world.my_pe() == 0 ? time : 0, heddle::op::sum);
      case averaging::mean:
        return reduced(real_, time, heddle::op::avg);
      case averaging::least:
        return reduced(real_, time, heddle::op::min);
      case averaging::largest:
        break;
    }
    return largest(time);
  }
  /// The sum of all PEs' values, or at least this one's: it may be added up by what is tested.
  [[nodiscard]] std::size_t total(std::size_t value) const {
    const auto sum = reduced(integer_, static_cast<std::int64_t>(value), heddle::op::sum);
    return std::max(value, static_cast<std::size_t>(sum));
  }

  /// Of the calls that run(n) makes back to back: the median over batches. All PEs agree on the
  /// number of calls.
  template <class Run>
  batch_times time_back_to_back(Run run) const {
    constexpr double batch_us = 2000;
    constexpr int batches = 5;
    const auto batch = [&](int calls) {
      world.barrier();
      const double start = now_us();
      run(calls);
      const double issued = now_us();
      finish();
      return std::pair(now_us() - start, issued - start);
    };
    if (chosen.warmup > 0) run(chosen.warmup);
    finish();
    int calls = chosen.iterations;
    if (calls == 0) {
      calls = 1;
      double elapsed = largest(batch(calls).first);
      while (elapsed < batch_us / 4 && calls < 1 << 20) elapsed = largest(batch(calls *= 4).first);
      calls = static_cast<int>(std::clamp(batch_us / elapsed * calls, 1.0, 1e6));
    }
    std::vector<double> times;
    std::vector<double> cpu_times;
    for (int i = 0; i < batches; ++i) {
      const auto [time, cpu_time] = batch(calls);
      times.push_back(average(time) / calls);
      if (chosen.cpu_time) cpu_times.push_back(average(cpu_time) / calls);
    }
    batch_times measured{median(std::move(times)), std::nullopt};
    if (chosen.cpu_time) measured.cpu_us = median(std::move(cpu_times));
    return measured;
  }
  /// The same into a row.
  template <class Run>
  void time_back_to_back(row& measured, Run run) const {
    const auto times = time_back_to_back(run);
    measured.time_us = times.time_us;
    measured.cpu_us = times.cpu_us;
  }

  /// Microseconds of a call by itself: prepare(i), a barrier, call(), check(i); the median.
  template <class Prepare, class Call, class Check>
  double time_alone(std::size_t bytes, Prepare prepare, Call call, Check check) const {
    const int repeats = bytes >= std::size_t{16} << 20 ? 3 : bytes >= std::size_t{1} << 20 ? 7 : 21;
    std::vector<double> samples;
    for (int i = 0; i < repeats; ++i) {
      prepare(i);
      world.barrier();
      const double start = now_us();
      call();
      finish();
      samples.push_back(average(now_us() - start));
      check(i);
    }
    return median(std::move(samples));
  }

 private:
  [[nodiscard]] std::optional<capturable_stream> make_capturable() const {
    if (chosen.graph_replays == 0) return std::nullopt;
    if (on_host)
      throw usage_error("-G: graphs need a GPU, and HEDDLE_DEVICE is host; see docs/running.md");
    return capturable_stream(runtime.device());
  }
  template <class T>
  [[nodiscard]] T reduced(const heddle::device_array<T>& number, T value, heddle::op op) const {
    queue.copy(number.data(), &value, 1);
    world.all_reduce(number.data(), number.data(), 1, op, queue);
    queue.copy(&value, number.data(), 1);
    queue.synchronize();
    return value;
  }

  const heddle::device_array<double> real_{runtime, 1};
  const heddle::device_array<std::int64_t> integer_{runtime, 1};
};

/// The PEs that are the root, in turn; {-1} for what has none.
inline std::vector<int> roots_of(const session& with) {
  const int n_pes = with.world.n_pes();
  if (!with.chosen.what.has_root) return {-1};
  if (with.chosen.root >= n_pes)
    throw usage_error(fmt::format("-r {}: there are {} PEs", with.chosen.root, n_pes));
  if (with.chosen.root != options::all_roots) return {with.chosen.root};
  std::vector<int> roots(static_cast<std::size_t>(n_pes));
  std::iota(roots.begin(), roots.end(), 0);
  return roots;
}

/// Those of family::reduction and of family::exchange.
void measure_reduction(const session& with);
void measure_exchange(const session& with);
void measure_put(const session& with);
void measure_get(const session& with);
void measure_signal(const session& with);
void measure_atomic(const session& with);
void measure_barrier(const session& with);
void measure_rate(const session& with);
/// Finds the sizes from which collectives go other ways here, and writes them to chosen.profile.
void tune(const session& with);

}  // namespace perf
