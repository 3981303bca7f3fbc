// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/heddle.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <heddle/device/types.hpp>
#include <type_traits>
#include <vector>

/// Inputs whose reduction is exact in every type and every order, so that results can be compared
/// bit by bit with a value computed apart: small integers (a sum over 8 PEs stays within the
/// significand), and for products powers of two. Integers that wrap do so here too.
namespace heddle::testing {

template <class T>
T from_int(int value) {
  if constexpr (small_float<T>) {
    return from_float<T>(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

/// What a type can be given.
struct value_range {
  int most_summand;  ///< a sum of one of each of 8 PEs is exact
  int most;          ///< of the operands of minima and maxima
  bool negative;
};
template <class T>
constexpr value_range range_of() {
  if constexpr (std::is_same_v<T, f8_e4m3> || std::is_same_v<T, f8_e5m2>) {
    return {1, 7, true};
  } else {
    return {15, 15, !std::is_unsigned_v<T>};
  }
}

/// The element i of PE `pe` in call number `call`, as an integer.
inline int input_of(heddle_op_t op, int pe, std::size_t i, int call, int n_pes,
                    value_range range = range_of<float>()) {
  const auto mixed =
      static_cast<std::uint32_t>(i * 2654435761u + static_cast<unsigned>(pe) * 40503u +
                                 static_cast<unsigned>(call) * 9973u) >>
      7;
  const auto below = [&](int n) { return static_cast<int>(mixed % static_cast<unsigned>(n)); };
  switch (op) {
    case HEDDLE_PROD:
      return mixed % 5 == 0 ? 2 : 1;
    case HEDDLE_SUM:
      return below(range.most_summand + 1);
    case HEDDLE_AVG: {
      // A sum that n_pes divides: PE 0 makes up for the rest.
      if (pe > 0) return below(range.most_summand + 1);
      int rest = 0;
      for (int other = 1; other < n_pes; ++other)
        rest += input_of(op, other, i, call, n_pes, range);
      return (n_pes - rest % n_pes) % n_pes;
    }
    default:
      return range.negative ? below(2 * range.most + 1) - range.most : below(range.most + 1);
  }
}

inline int result_of(heddle_op_t op, std::size_t i, int call, int n_pes,
                     value_range range = range_of<float>()) {
  int result = input_of(op, 0, i, call, n_pes, range);
  for (int pe = 1; pe < n_pes; ++pe) {
    const int value = input_of(op, pe, i, call, n_pes, range);
    switch (op) {
      case HEDDLE_SUM:
      case HEDDLE_AVG:
        result += value;
        break;
      case HEDDLE_PROD:
        result *= value;
        break;
      case HEDDLE_MIN:
        result = value < result ? value : result;
        break;
      case HEDDLE_MAX:
        result = value > result ? value : result;
        break;
    }
  }
  return op == HEDDLE_AVG ? result / n_pes : result;
}

/// What all PEs put into a call, and what must come out of it: worked out once for all of them.
template <class T>
struct exact_call {
  std::vector<std::vector<T>> inputs;  ///< by PE
  std::vector<T> result;

  /// `scale`: what the results are multiplied by.
  exact_call(heddle_op_t op, std::size_t count, int call, int n_pes, int scale = 1)
      : inputs(static_cast<std::size_t>(n_pes), std::vector<T>(count)), result(count) {
    for (int pe = 0; pe < n_pes; ++pe)
      for (std::size_t i = 0; i < count; ++i)
        inputs[static_cast<std::size_t>(pe)][i] =
            from_int<T>(input_of(op, pe, i, call, n_pes, range_of<T>()));
    for (std::size_t i = 0; i < count; ++i)
      result[i] = from_int<T>(scale * result_of(op, i, call, n_pes, range_of<T>()));
  }
  [[nodiscard]] const std::vector<T>& input(int pe) const {
    return inputs[static_cast<std::size_t>(pe)];
  }
};

/// The first of `count` elements that differs, bit by bit; `count`: none.
template <class T>
std::size_t first_difference(const T* found, const T* expected, std::size_t count) {
  if (count == 0 || std::memcmp(found, expected, count * sizeof(T)) == 0) return count;
  std::size_t i = 0;
  while (std::memcmp(found + i, expected + i, sizeof(T)) == 0) ++i;
  return i;
}

}  // namespace heddle::testing
