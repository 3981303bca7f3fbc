// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/heddle.h>

#include <cstddef>
#include <cstdint>
#include <heddle/device/types.hpp>

/// Inputs whose reduction is exact in every type and every order, so that results can be compared
/// bit by bit with a value computed apart: small integers (a sum over 8 PEs stays below 2^8, the
/// significand of bf16), and for products powers of two.
namespace heddle::testing {

template <class T>
T from_int(int value) {
  return static_cast<T>(value);
}
template <>
inline f16 from_int<f16>(int value) {
  return to_f16(static_cast<float>(value));
}
template <>
inline bf16 from_int<bf16>(int value) {
  return to_bf16(static_cast<float>(value));
}

/// The element i of PE `pe` in call number `call`, as an integer.
inline int input_of(heddle_op_t op, int pe, std::size_t i, int call, int n_pes) {
  const auto mixed =
      static_cast<std::uint32_t>(i * 2654435761u + static_cast<unsigned>(pe) * 40503u +
                                 static_cast<unsigned>(call) * 9973u) >>
      7;
  switch (op) {
    case HEDDLE_PROD:
      return mixed % 5 == 0 ? 2 : 1;
    case HEDDLE_AVG: {
      // A sum that n_pes divides: PE 0 makes up for the rest.
      if (pe > 0) return static_cast<int>(mixed % 16);
      int rest = 0;
      for (int other = 1; other < n_pes; ++other) rest += input_of(op, other, i, call, n_pes);
      return (n_pes - rest % n_pes) % n_pes;
    }
    default:
      return static_cast<int>(mixed % 31) - (op == HEDDLE_SUM ? 0 : 15);
  }
}

inline int result_of(heddle_op_t op, std::size_t i, int call, int n_pes) {
  int result = input_of(op, 0, i, call, n_pes);
  for (int pe = 1; pe < n_pes; ++pe) {
    const int value = input_of(op, pe, i, call, n_pes);
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

}  // namespace heddle::testing
