// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/types.hpp>

/// Reductions: objects that kernels carry, which combine elements two by two.
///
///     struct largest_magnitude {
///       template <class A>
///       HEDDLE_FN A combine(A a, A b) const { return b * b > a * a ? b : a; }
///     };
///
/// `combine` is associative and commutative, but for rounding: elements are combined in an order
/// that the plan gives, hence the number of PEs and of bytes. A is `accumulator<T>::type`. What a
/// reduction has to do once, to what all PEs' elements have become, is `finish(a)`, if it has it;
/// with `finishes()` it may say that it has nothing to do.
namespace heddle {

/// How an element type is accumulated: floating point of 8 and 16 bits in float, all others in
/// themselves.
template <class T>
struct accumulator {
  using type = T;
  HEDDLE_FN static type widen(T value) { return value; }
  HEDDLE_FN static T narrow(type value) { return value; }
};
template <small_float T>
struct accumulator<T> {
  using type = float;
  HEDDLE_FN static float widen(T value) { return to_float(value); }
  HEDDLE_FN static T narrow(float value) { return from_float<T>(value); }
};

/// Integers are those of the library's kernels: unsigned, whatever the user's are, so that signed
/// ones wrap.
struct reduce_sum {
  /// What a complete sum is divided by, for an average; below 0 that of signed integers, which
  /// truncate towards zero as all do. 0 for a sum, `scaled` for one that is multiplied.
  int32_t divisor = 0;
  uint64_t factor = 0;  ///< of a scaled sum: the bits of an accumulator

  static constexpr int32_t scaled = -2147483647 - 1;

  HEDDLE_FN static reduce_sum average_of(int n_pes, bool is_signed) {
    return {is_signed ? -n_pes : n_pes};
  }
  template <class A>
  HEDDLE_FN static reduce_sum scaled_by(A factor);
  template <class A>
  HEDDLE_FN A combine(A a, A b) const {
    return static_cast<A>(a + b);
  }
  template <class A>
  HEDDLE_FN A finish(A sum) const;
  template <class A>
  HEDDLE_FN A factor_as() const;
  HEDDLE_FN bool finishes() const { return divisor != 0; }
  HEDDLE_FN bool scales() const { return divisor == scaled; }
  /// Of what is not complete.
  HEDDLE_FN reduce_sum unfinished() const { return {}; }
};

struct reduce_prod {
  template <class A>
  HEDDLE_FN A combine(A a, A b) const {
    if constexpr (sizeof(A) < sizeof(uint32_t)) {
      return static_cast<A>(uint32_t{a} * uint32_t{b});
    } else {
      return a * b;
    }
  }
};

/// The smallest or the largest. One code for both, and for signed and unsigned integers: bits of
/// the operands are flipped, which turns each order into that of signed integers, or of
/// floating-point numbers, upside up or down. Of those a NaN in either is the result (as IEEE
/// 754-2019 minimum).
struct reduce_extremum {
  uint64_t flipped = 0;  ///< in its lower bits, as many as the operands have

  /// For operands of so many bytes.
  HEDDLE_FN static constexpr reduce_extremum of(bool is_max, size_t bytes, bool is_signed,
                                                bool is_float) {
    const uint64_t sign = uint64_t{1} << (8 * bytes - 1);
    if (is_float) return {is_max ? sign : 0};
    return {(is_max ? ~uint64_t{0} : 0) ^ (is_signed ? 0 : sign)};
  }

  template <class A>
  HEDDLE_FN A combine(A a, A b) const;
};

namespace detail {

/// What parts of many elements are multiples of: a cache line's, as far as they fill one.
template <class T>
inline constexpr size_t per_line = sizeof(T) < cache_line ? cache_line / sizeof(T) : 1;
/// Whether parts that end at cache lines are whole elements.
template <class T>
inline constexpr bool fill_lines = cache_line % sizeof(T) == 0;
/// Whether words of 8 bytes are whole elements.
template <class T>
inline constexpr bool fill_words = 8 % sizeof(T) == 0;

template <class Op>
inline constexpr bool is_builtin_reduction =
    standard::is_same_v<Op, reduce_sum> || standard::is_same_v<Op, reduce_prod> ||
    standard::is_same_v<Op, reduce_extremum>;

/// Of a word or line of `all` elements of which `there` are there, how many are combined. A user's
/// reduction is given no others: it may divide, or look something up. The library's take what fills
/// up the rest too, in loops of a fixed length.
template <class Op>
HEDDLE_FN constexpr size_t combined_of(size_t there, size_t all) {
  return is_builtin_reduction<Op> || there > all ? all : there;
}

/// An integer's division is long, and is not copied to each place of a CUDA kernel that may divide.
template <class A>
HEDDLE_APART HEDDLE_FN A divided_integer(A sum, int divisor) {
  using wide = standard::conditional_t<sizeof(A) == 8, int64_t, int32_t>;
  if (divisor < 0)
    return static_cast<A>(static_cast<wide>(static_cast<standard::make_signed_t<A>>(sum)) /
                          -static_cast<wide>(divisor));
  return static_cast<A>(sum / static_cast<standard::make_unsigned_t<wide>>(divisor));
}

template <class Op, class A>
concept finishing = requires(const Op& op, A a) {
  op.finish(a);
};

/// Whether what a step combines are complete combinations. The library's reductions need no word
/// for it.
template <class Op>
struct step_place {
  bool is_last = true;
};
template <class Op>
requires requires(const Op& op) { op.unfinished(); } || is_builtin_reduction<Op>
struct step_place<Op> {
};

/// A reduction as one step of a collective applies it.
template <class Op>
struct reduce_step : step_place<Op> {
  HEDDLE_FN explicit reduce_step(const Op& given) : op(given) {}

  template <class A>
  HEDDLE_FN A combine(A a, A b) const {
    return op.combine(a, b);
  }
  template <class A>
  HEDDLE_FN A finish(A combined) const {
    if constexpr (finishing<Op, A>) {
      if (finishes<A>()) return op.finish(combined);
    }
    return combined;
  }
  /// Whether `finish` changes anything of an A.
  template <class A>
  HEDDLE_FN bool finishes() const {
    if constexpr (!finishing<Op, A>) return false;
    if constexpr (has_place) {
      if (!this->is_last) return false;
    }
    if constexpr (requires { op.finishes(); }) return op.finishes();
    return true;
  }
  HEDDLE_FN reduce_step when(bool last) const {
    reduce_step step = *this;
    if constexpr (has_place) {
      step.is_last &= last;
    } else if constexpr (requires { op.unfinished(); }) {
      if (!last) step.op = op.unfinished();
    }
    return step;
  }

  Op op;

 private:
  static constexpr bool has_place = requires(step_place<Op> place) { place.is_last; };
};

}  // namespace detail

template <class A>
HEDDLE_FN A reduce_sum::factor_as() const {
  if constexpr (standard::is_integral_v<A>) {
    return static_cast<A>(factor);
  } else if constexpr (sizeof(A) == sizeof(float)) {
    return detail::as_float(static_cast<uint32_t>(factor));
  } else {
    return detail::as_double(factor);
  }
}

template <class A>
HEDDLE_FN reduce_sum reduce_sum::scaled_by(A factor) {
  if constexpr (standard::is_integral_v<A>) {
    return {scaled, static_cast<uint64_t>(factor)};
  } else {
    return {scaled, detail::as_bits(factor)};
  }
}

template <class A>
HEDDLE_FN A reduce_sum::finish(A sum) const {
  if (scales()) return reduce_prod{}.combine(sum, factor_as<A>());
  if constexpr (standard::is_integral_v<A>) {
    return detail::divided_integer(sum, divisor);
  } else {
    return sum / static_cast<A>(divisor);
  }
}

template <class A>
HEDDLE_FN A reduce_extremum::combine(A a, A b) const {
  if constexpr (standard::is_integral_v<A>) {
    using ordered = standard::make_signed_t<A>;
    const auto flip = static_cast<A>(flipped);
    return static_cast<ordered>(b ^ flip) < static_cast<ordered>(a ^ flip) ? b : a;
  } else if constexpr (sizeof(A) == sizeof(float)) {
    const auto flip = static_cast<uint32_t>(flipped);
    const float a_ordered = detail::as_float(detail::as_bits(a) ^ flip);
    const float b_ordered = detail::as_float(detail::as_bits(b) ^ flip);
    return (b_ordered < a_ordered || b != b) ? b : a;
  } else {
    const double a_ordered = detail::as_double(detail::as_bits(a) ^ flipped);
    const double b_ordered = detail::as_double(detail::as_bits(b) ^ flipped);
    return (b_ordered < a_ordered || b != b) ? b : a;
  }
}

}  // namespace heddle
