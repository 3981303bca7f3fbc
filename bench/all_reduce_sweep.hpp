// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <numeric>

#include "program.hpp"

/// The AllReduce benchmark of every contender: float32, sum, out of place, blocking call.
namespace bench {

/// One way to reduce. `input()` and `output()` hold `capacity()` elements, in whatever memory suits
/// the contender best.
template <class T>
concept all_reduce_contender = requires(T& contender, const float* input, float* output,
                                        std::size_t count) {
  { contender.my_pe() } -> std::convertible_to<int>;
  { contender.n_pes() } -> std::convertible_to<int>;
  { contender.capacity() } -> std::convertible_to<std::size_t>;
  { contender.input() } -> std::same_as<float*>;
  { contender.output() } -> std::same_as<float*>;
  contender.all_reduce(input, output, count);
};

/// Elements beyond the largest size, through which the processes agree on times.
inline constexpr std::size_t control_elements = 64;

template <all_reduce_contender Contender>
class all_reduce_sweep {
 public:
  explicit all_reduce_sweep(Contender& contender)
      : contender_(contender),
        control_(contender.capacity() - control_elements),
        pe_(contender.my_pe()),
        n_pes_(contender.n_pes()) {
    if (n_pes_ > static_cast<int>(control_elements))
      throw std::runtime_error("the benchmark is for at most 64 processes");
  }

  /// The largest x of all processes, through the very operation that is measured.
  double agree(double x) {
    float* input = contender_.input() + control_;
    float* output = contender_.output() + control_;
    for (int pe = 0; pe < n_pes_; ++pe) input[pe] = 0;
    input[pe_] = static_cast<float>(x);
    contender_.all_reduce(input, output, static_cast<std::size_t>(n_pes_));
    return *std::max_element(output, output + n_pes_);
  }

  /// Back to back calls; each changes the first and the last element of the input.
  double time(std::size_t bytes, const effort& effort) {
    const std::size_t count = bytes / sizeof(float);
    fill(count);
    const double us = time_per_iteration(
        [&](std::uint64_t iterations) {
          float* input = contender_.input();
          float* output = contender_.output();
          for (std::uint64_t i = 0; i < iterations; ++i) {
            ++call_;
            input[0] = changed(pe_, call_);
            input[count - 1] = changed(pe_, call_ + 1);
            contender_.all_reduce(input, output, count);
          }
        },
        [&](double x) { return agree(x); }, effort.for_size(bytes));
    verify_ends(count);
    verify_sample(count);
    contender_.input()[0] = base(pe_, 0);
    contender_.input()[count - 1] = base(pe_, count - 1);
    return us;
  }

  /// Calls whose input was wholly rewritten, and whose last output was read, since the call before:
  /// the data has to move from one processor's cache to the other's. Each call is timed by itself.
  double time_fresh(std::size_t bytes, const effort& effort) {
    const std::size_t count = bytes / sizeof(float);
    fill(count);
    float* input = contender_.input();
    std::vector<double> samples;
    double spent = 0;
    while (samples.size() < 3 || (samples.size() < 101 && spent < 4 * effort.batch_us)) {
      ++call_;
      for (std::size_t i = 0; i < count; ++i) input[i] = changed(pe_, call_ + i);
      agree(0);
      const double start = now_us();
      contender_.all_reduce(input, contender_.output(), count);
      samples.push_back(agree(now_us() - start));
      spent += samples.back();
      verify_fresh(count);
    }
    for (std::size_t i = 0; i < count; ++i) input[i] = base(pe_, i);
    return median(std::move(samples));
  }

 private:
  /// Every measurement begins with arrays that their owners have just written, as a program's are.
  /// Lines that both processors have read, as the bare `pull` reads them, stay in the cache that
  /// the two share, and whatever runs next is quicker by a third from 2 to 16 MiB.
  void fill(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) contender_.input()[i] = base(pe_, i);
    for (std::size_t i = 0; i < count; ++i) contender_.output()[i] = -1;
  }

  // Small integers: every sum is exact, in any order.
  static float base(int pe, std::size_t i) {
    return static_cast<float>((i * 7 + static_cast<std::size_t>(pe) * 3) % 61);
  }
  static float changed(int pe, std::uint64_t call) {
    return static_cast<float>((call + static_cast<std::uint64_t>(pe) * 5) & 1023);
  }

  template <class Value>
  void expect(std::size_t i, Value value) const {
    float sum = 0;
    for (int pe = 0; pe < n_pes_; ++pe) sum += value(pe);
    if (contender_.output()[i] != sum)
      throw std::runtime_error(
          "wrong result: element " + std::to_string(i) + " of PE " + std::to_string(pe_) + " is " +
          std::to_string(contender_.output()[i]) + ", not " + std::to_string(sum));
  }
  void verify_ends(std::size_t count) const {
    expect(0, [&](int pe) { return changed(pe, call_); });
    expect(count - 1, [&](int pe) { return changed(pe, call_ + 1); });
  }
  void verify_sample(std::size_t count) const {
    for (std::size_t i = 1; i + 1 < count; i += 1 + count / 509)
      expect(i, [&](int pe) { return base(pe, i); });
  }
  /// Reads all of the output, as its user would.
  void verify_fresh(std::size_t count) const {
    const float* output = contender_.output();
    double total = 0;
    for (std::size_t i = 0; i < count; ++i) total += output[i];
    double expected = 0;
    for (int pe = 0; pe < n_pes_; ++pe)
      for (std::size_t i = 0; i < count; ++i) expected += changed(pe, call_ + i);
    if (total != expected)
      throw std::runtime_error("wrong result: the output of PE " + std::to_string(pe_) +
                               " adds up to " + std::to_string(total) + ", not " +
                               std::to_string(expected));
  }

  Contender& contender_;
  std::size_t control_;
  int pe_;
  int n_pes_;
  std::uint64_t call_ = 0;
};

/// Measures one size and prints what it finds.
template <all_reduce_contender Contender>
void measure_all_reduce(all_reduce_sweep<Contender>& sweep, int my_pe, const std::string& variant,
                        std::size_t bytes, const options& options) {
  const double us =
      options.fresh ? sweep.time_fresh(bytes, options.measure) : sweep.time(bytes, options.measure);
  if (my_pe == 0) report(options.fresh ? "all_reduce_fresh" : "all_reduce", variant, bytes, us);
}

/// Measures `variant` over the sizes.
template <all_reduce_contender Contender>
void sweep_all_reduce(Contender& contender, const std::string& variant, const options& options) {
  all_reduce_sweep<Contender> sweep(contender);
  for (const std::size_t bytes : options.sizes())
    measure_all_reduce(sweep, contender.my_pe(), variant, bytes, options);
}

}  // namespace bench
