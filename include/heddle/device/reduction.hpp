// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/types.hpp>

namespace heddle {

/// How an element type is accumulated: 16-bit types in float, all others in themselves.
template <class T>
struct accumulator {
  using type = T;
  HEDDLE_FN static type widen(T value) { return value; }
  HEDDLE_FN static T narrow(type value) { return value; }
};
template <>
struct accumulator<f16> {
  using type = float;
  HEDDLE_FN static float widen(f16 value) { return to_float(value); }
  HEDDLE_FN static f16 narrow(float value) { return to_f16(value); }
};
template <>
struct accumulator<bf16> {
  using type = float;
  HEDDLE_FN static float widen(bf16 value) { return to_float(value); }
  HEDDLE_FN static bf16 narrow(float value) { return to_bf16(value); }
};

/// A reduction has `combine(a, b)`, associative but for rounding. Signed integers wrap (they are
/// combined as unsigned). An average is a sum that is divided when it is complete (`finished`).
struct reduce_sum {
  template <class A>
  HEDDLE_FN static A combine(A a, A b) {
    if constexpr (standard::is_integral_v<A>) {
      using U = standard::make_unsigned_t<A>;
      return static_cast<A>(static_cast<U>(a) + static_cast<U>(b));
    } else {
      return a + b;
    }
  }
};

struct reduce_prod {
  template <class A>
  HEDDLE_FN static A combine(A a, A b) {
    if constexpr (standard::is_integral_v<A>) {
      using U = standard::make_unsigned_t<A>;
      return static_cast<A>(static_cast<U>(a) * static_cast<U>(b));
    } else {
      return a * b;
    }
  }
};

/// min and max of floating-point numbers: a NaN in either is the result (as IEEE 754-2019 minimum).
struct reduce_min {
  template <class A>
  HEDDLE_FN static A combine(A a, A b) {
    if constexpr (standard::is_integral_v<A>) {
      return b < a ? b : a;
    } else {
      return (b < a || b != b) ? b : a;
    }
  }
};

struct reduce_max {
  template <class A>
  HEDDLE_FN static A combine(A a, A b) {
    if constexpr (standard::is_integral_v<A>) {
      return a < b ? b : a;
    } else {
      return (a < b || b != b) ? b : a;
    }
  }
};

namespace detail {

/// What is done with the combination of all PEs' elements: nothing (0), or it is divided by that
/// many, for an average; integers truncate towards zero.
struct finish_for {
  int divisor;
};

/// Whether results may have to be divided. Averages have no kernels of their own: sums' do both.
template <class Op>
inline constexpr bool may_average = standard::is_same_v<Op, reduce_sum>;

/// An integer's division is long, and is not copied to each place of a CUDA kernel that may divide.
template <class A>
HEDDLE_APART HEDDLE_FN A divided_integer(A sum, int divisor) {
  return sum / static_cast<A>(divisor);
}
template <class A>
HEDDLE_FN A divided(A sum, int divisor) {
  if constexpr (standard::is_integral_v<A>) return divided_integer(sum, divisor);
  return sum / static_cast<A>(divisor);
}

template <class Op, class A>
HEDDLE_FN A finished(A combined, finish_for finish) {
  if constexpr (may_average<Op>) {
    if (finish.divisor) return divided(combined, finish.divisor);
  }
  return combined;
}

}  // namespace detail

}  // namespace heddle
