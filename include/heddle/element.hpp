// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/heddle.h>
#include <heddle/device/types.hpp>

#include <cstdint>
#include <type_traits>

namespace heddle {

/// The heddle_type_t of an element type.
template <class T>
inline constexpr int element_type = -1;
template <>
inline constexpr int element_type<std::int32_t> = HEDDLE_INT32;
template <>
inline constexpr int element_type<std::int64_t> = HEDDLE_INT64;
template <>
inline constexpr int element_type<f16> = HEDDLE_FLOAT16;
template <>
inline constexpr int element_type<bf16> = HEDDLE_BFLOAT16;
template <>
inline constexpr int element_type<float> = HEDDLE_FLOAT32;
template <>
inline constexpr int element_type<double> = HEDDLE_FLOAT64;

template <>
inline constexpr int element_type<std::int8_t> = HEDDLE_INT8;
template <>
inline constexpr int element_type<std::int16_t> = HEDDLE_INT16;
template <>
inline constexpr int element_type<std::uint8_t> = HEDDLE_UINT8;
template <>
inline constexpr int element_type<std::uint16_t> = HEDDLE_UINT16;
template <>
inline constexpr int element_type<std::uint32_t> = HEDDLE_UINT32;
template <>
inline constexpr int element_type<std::uint64_t> = HEDDLE_UINT64;
template <>
inline constexpr int element_type<f8_e4m3> = HEDDLE_FLOAT8_E4M3;
template <>
inline constexpr int element_type<f8_e5m2> = HEDDLE_FLOAT8_E5M2;

template <class T>
concept element = (element_type<std::remove_const_t<T>> >= 0);

enum class op {
  sum = HEDDLE_SUM,
  prod = HEDDLE_PROD,
  min = HEDDLE_MIN,
  max = HEDDLE_MAX,
  avg = HEDDLE_AVG
};

}  // namespace heddle
