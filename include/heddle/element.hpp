// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/heddle.h>
#include <heddle/device/types.hpp>
#include <heddle/handle.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace heddle {

namespace detail {

/// Integers go by size and sign: `long long` is an int64_t, `char` what it is here.
template <class T>
constexpr int type_of_integer() {
  if (!std::is_integral_v<T> || std::is_same_v<T, bool>) return -1;
  constexpr bool is_signed = std::is_signed_v<T>;
  switch (sizeof(T)) {
    case 1:
      return is_signed ? HEDDLE_INT8 : HEDDLE_UINT8;
    case 2:
      return is_signed ? HEDDLE_INT16 : HEDDLE_UINT16;
    case 4:
      return is_signed ? HEDDLE_INT32 : HEDDLE_UINT32;
    case 8:
      return is_signed ? HEDDLE_INT64 : HEDDLE_UINT64;
    default:
      return -1;
  }
}

}  // namespace detail

/// The heddle_type_t of an element type; -1: none, so that nothing combines it.
template <class T>
inline constexpr int element_type = detail::type_of_integer<T>();
template <>
inline constexpr int element_type<f8_e4m3> = HEDDLE_FLOAT8_E4M3;
template <>
inline constexpr int element_type<f8_e5m2> = HEDDLE_FLOAT8_E5M2;
template <>
inline constexpr int element_type<f16> = HEDDLE_FLOAT16;
template <>
inline constexpr int element_type<bf16> = HEDDLE_BFLOAT16;
template <>
inline constexpr int element_type<float> = HEDDLE_FLOAT32;
template <>
inline constexpr int element_type<double> = HEDDLE_FLOAT64;

/// What collectives combine. (reduce_by.hpp combines all else, by a function of the user's.)
template <class T>
concept element = (element_type<std::remove_const_t<T>> >= 0);

namespace detail {

/// Elements as the calls take them that combine nothing: as bytes, where they have no
/// heddle_type_t.
template <class T>
struct moved_elements {
  static constexpr auto type =
      static_cast<heddle_type_t>(element<T> ? element_type<T> : int{HEDDLE_UINT8});
  static constexpr std::size_t count(std::size_t n) { return element<T> ? n : bytes_of<T>(n); }
  static decltype(auto) list(const std::vector<std::size_t>& numbers) {
    if constexpr (element<T>) {
      return (numbers);
    } else {
      std::vector<std::size_t> in_bytes;
      for (const std::size_t n : numbers) in_bytes.push_back(count(n));
      return in_bytes;
    }
  }
};

}  // namespace detail

enum class op {
  sum = HEDDLE_SUM,
  prod = HEDDLE_PROD,
  min = HEDDLE_MIN,
  max = HEDDLE_MAX,
  avg = HEDDLE_AVG
};

}  // namespace heddle
