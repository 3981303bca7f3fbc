// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <heddle/team.hpp>
#include <vector>

#include "coll/exact_values.hpp"

namespace heddle::testing {

using octets = std::vector<std::byte>;

/// A scaled sum, beside the operations of heddle_op_t.
inline constexpr int scaled_by_two = HEDDLE_AVG + 1;
inline constexpr int num_reductions = scaled_by_two + 1;

/// What a PE gives, and what must come out, by element, again and again from `period` on.
struct exact_pattern {
  static constexpr std::size_t period = 1021;

  octets input;
  octets result;

  /// `count` elements of `size` bytes, beginning with the pattern's element `from`.
  static octets cut(const octets& pattern, std::size_t size, std::size_t count, std::size_t from) {
    octets all(count * size);
    for (std::size_t i = 0; i < count;) {
      const std::size_t at = (from + i) % period;
      const std::size_t n = std::min(count - i, period - at);
      std::memcpy(all.data() + i * size, pattern.data() + at * size, n * size);
      i += n;
    }
    return all;
  }
};

/// An element type, without its C++ type.
struct reduced_type {
  heddle_type_t type;
  std::size_t size;
  exact_pattern (*pattern)(int reduction, int pe, int n_pes);
  octets (*factor)(int value);       ///< of a scaled sum
  octets (*neutral)(int reduction);  ///< an input that changes no sum or no product
};

template <class T>
exact_pattern pattern_of(int reduction, int pe, int n_pes) {
  const bool scaled = reduction == scaled_by_two;
  const auto op = scaled ? HEDDLE_SUM : static_cast<heddle_op_t>(reduction);
  exact_pattern all{octets(exact_pattern::period * sizeof(T)),
                    octets(exact_pattern::period * sizeof(T))};
  for (std::size_t i = 0; i < exact_pattern::period; ++i) {
    const T mine = from_int<T>(input_of(op, pe, i, reduction, n_pes, range_of<T>()));
    const T out = from_int<T>((scaled ? 2 : 1) * result_of(op, i, reduction, n_pes, range_of<T>()));
    std::memcpy(all.input.data() + i * sizeof(T), &mine, sizeof(T));
    std::memcpy(all.result.data() + i * sizeof(T), &out, sizeof(T));
  }
  return all;
}

template <class T>
octets neutral_of(int reduction) {
  const std::vector<T> all(exact_pattern::period, from_int<T>(reduction == HEDDLE_PROD ? 1 : 0));
  octets made(all.size() * sizeof(T));
  std::memcpy(made.data(), all.data(), made.size());
  return made;
}

template <class T>
octets factor_of(int value) {
  const auto factor = static_cast<typename accumulator<T>::type>(value);
  octets made(sizeof factor);
  std::memcpy(made.data(), &factor, sizeof factor);
  return made;
}

template <class T>
constexpr reduced_type reduced_type_of() {
  return {static_cast<heddle_type_t>(element_type<T>), sizeof(T), pattern_of<T>, factor_of<T>,
          neutral_of<T>};
}

inline constexpr std::array reduced_types = {
    reduced_type_of<std::int8_t>(),   reduced_type_of<std::int16_t>(),
    reduced_type_of<std::int32_t>(),  reduced_type_of<std::int64_t>(),
    reduced_type_of<std::uint8_t>(),  reduced_type_of<std::uint16_t>(),
    reduced_type_of<std::uint32_t>(), reduced_type_of<std::uint64_t>(),
    reduced_type_of<f8_e4m3>(),       reduced_type_of<f8_e5m2>(),
    reduced_type_of<f16>(),           reduced_type_of<bf16>(),
    reduced_type_of<float>(),         reduced_type_of<double>()};

}  // namespace heddle::testing
