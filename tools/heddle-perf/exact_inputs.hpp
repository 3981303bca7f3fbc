// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <heddle/device/types.hpp>
#include <type_traits>
#include <vector>

#include "options.hpp"

namespace perf {

/// Of mulsum: what is exact times it is, if there is room.
constexpr int mulsum_factor = 2;

/// Inputs whose reduction is exact in any type and any order, hence known bit by bit: small
/// integers for sum, min and max, a sum that the PEs divide for avg, few twos for prod. They repeat
/// with a prime period and move on with each call, so that what is left of an earlier call does not
/// pass.
template <class T>
class exact_inputs {
 public:
  exact_inputs(redop op, int my_pe, int n_pes) {
    for (std::size_t k = 0; k < period; ++k) {
      input_.push_back(convert(integer(op, my_pe, n_pes, k)));
      int result = integer(op, 0, n_pes, k);
      for (int pe = 1; pe < n_pes; ++pe) result = combine(op, result, integer(op, pe, n_pes, k));
      if (op == redop::avg) result = wrapped(result) / n_pes;
      if (op == redop::mulsum) result *= mulsum_factor;
      expected_.push_back(convert(result));
    }
  }

  /// Elements `first` and on.
  void fill(T* input, std::size_t count, int call, std::size_t first = 0) const {
    for (std::size_t i = 0, k = start(call, first); i < count; k = 0) {
      const std::size_t run = count - i < period - k ? count - i : period - k;
      std::memcpy(input + i, &input_[k], run * sizeof(T));
      i += run;
    }
  }

  [[nodiscard]] std::size_t count_wrong(const T* output, std::size_t count, int call,
                                        std::size_t first = 0) const {
    std::size_t wrong = 0;
    for (std::size_t i = 0, k = start(call, first); i < count; k = 0) {
      const std::size_t run = count - i < period - k ? count - i : period - k;
      // Bit for bit. NOLINTBEGIN(bugprone-suspicious-memory-comparison)
      if (std::memcmp(output + i, &expected_[k], run * sizeof(T)) != 0)
        for (std::size_t j = 0; j < run; ++j)
          wrong += std::memcmp(output + i + j, &expected_[k + j], sizeof(T)) != 0;
      // NOLINTEND(bugprone-suspicious-memory-comparison)
      i += run;
    }
    return wrong;
  }

 private:
  static constexpr std::size_t period = 8191;
  static constexpr bool is_tiny =
      std::is_same_v<T, heddle::f8_e4m3> || std::is_same_v<T, heddle::f8_e5m2>;

  static std::size_t start(int call, std::size_t first) {
    return (static_cast<std::size_t>(call) * 977 + first) % period;
  }

  static int integer(redop op, int pe, int n_pes, std::size_t k) {
    // Of many PEs no more differ than leave results that do.
    const auto mixed =
        static_cast<int>((k * 31 + static_cast<std::size_t>(pe % most_different) * 17) % 29);
    switch (op) {
      case redop::sum:
      case redop::mulsum:
        return is_tiny && pe >= most_tiny ? 0 : mixed % summands(n_pes);
      case redop::prod:
        return pe < 4 && mixed % 3 == 0 ? 2 : 1;
      case redop::avg: {
        if (is_tiny && n_pes > most_tiny) return tiny_part_of_average(pe, n_pes, k);
        if (n_pes >= most_different && k % 2 == 0) return 0;
        if (pe > 0 || n_pes == 1) return mixed % summands(n_pes);
        int rest = 0;
        for (int other = 1; other < n_pes; ++other) rest += integer(op, other, n_pes, k);
        return (n_pes - rest % n_pes) % n_pes;
      }
      case redop::min:
      case redop::max:
        break;
    }
    if constexpr (std::is_unsigned_v<T>) return mixed;
    return is_tiny ? mixed % 15 - 7 : mixed - 14;
  }
  /// A sum of one below this of each PE is exact.
  static int summands(int n_pes) { return is_tiny || n_pes > most_different ? 2 : 16; }
  static constexpr int most_different = 8;
  /// So many PEs' ones add up exactly, in any order. In larger teams the others have zeros.
  static constexpr int most_tiny = 8;
  /// Of more PEs: an eighth of n_pes from each of eight, where such sums are exact; else two values
  /// that cancel out.
  static int tiny_part_of_average(int pe, int n_pes, std::size_t k) {
    const int on = k % 3 == 0 ? 0 : 1;
    const bool is_exact = n_pes <= 256 && (n_pes & (n_pes - 1)) == 0;
    if (is_exact) return pe < most_tiny ? on * n_pes / most_tiny : 0;
    return pe == 0 ? on : pe == 1 ? -on : 0;
  }
  static int combine(redop op, int a, int b) {
    switch (op) {
      case redop::prod:
        return a * b;
      case redop::min:
        return a < b ? a : b;
      case redop::max:
        return a > b ? a : b;
      default:
        return a + b;
    }
  }
  /// A sum as integers have it that are too small for it.
  static int wrapped(int sum) {
    if constexpr (std::is_integral_v<T>) return static_cast<int>(static_cast<T>(sum));
    return sum;
  }
  static T convert(int value) {
    if constexpr (heddle::small_float<T>) {
      return heddle::from_float<T>(static_cast<float>(value));
    } else {
      return static_cast<T>(value);
    }
  }

  std::vector<T> input_;
  std::vector<T> expected_;
};

}  // namespace perf
