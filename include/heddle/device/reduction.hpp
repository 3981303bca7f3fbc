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

/// A reduction has `combine(a, b)`, associative but for rounding, and `finish(a, n_pes)`, applied
/// once to the combination of all PEs' elements. Signed integers wrap (they are combined as
/// unsigned).
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
  template <class A>
  HEDDLE_FN static A finish(A a, int) {
    return a;
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
  template <class A>
  HEDDLE_FN static A finish(A a, int) {
    return a;
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
  template <class A>
  HEDDLE_FN static A finish(A a, int) {
    return a;
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
  template <class A>
  HEDDLE_FN static A finish(A a, int) {
    return a;
  }
};

/// The sum divided by the number of PEs; integers truncate towards zero.
struct reduce_avg : reduce_sum {
  template <class A>
  HEDDLE_FN static A finish(A a, int n_pes) {
    return a / static_cast<A>(n_pes);
  }
};

}  // namespace heddle
