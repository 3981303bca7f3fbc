// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/heddle.h>

#include <array>
#include <cstddef>
#include <string_view>

namespace heddle {

inline constexpr int num_types = 14;
inline constexpr int num_ops = 5;

namespace detail {

enum class element_kind { signed_integer, unsigned_integer, floating_point };
struct element_type_facts {
  std::string_view name;
  std::size_t bytes;
  element_kind kind;
};
/// By heddle_type_t.
inline constexpr std::array<element_type_facts, num_types> element_types = {{
    {"int32", 4, element_kind::signed_integer},
    {"int64", 8, element_kind::signed_integer},
    {"float16", 2, element_kind::floating_point},
    {"bfloat16", 2, element_kind::floating_point},
    {"float32", 4, element_kind::floating_point},
    {"float64", 8, element_kind::floating_point},
    {"int8", 1, element_kind::signed_integer},
    {"int16", 2, element_kind::signed_integer},
    {"uint8", 1, element_kind::unsigned_integer},
    {"uint16", 2, element_kind::unsigned_integer},
    {"uint32", 4, element_kind::unsigned_integer},
    {"uint64", 8, element_kind::unsigned_integer},
    {"float8_e4m3", 1, element_kind::floating_point},
    {"float8_e5m2", 1, element_kind::floating_point},
}};

}  // namespace detail

// Of a valid type.
constexpr bool is_type(heddle_type_t type) { return type >= 0 && type < num_types; }
constexpr std::size_t bytes_of(heddle_type_t type) { return detail::element_types[type].bytes; }
constexpr std::string_view name_of(heddle_type_t type) { return detail::element_types[type].name; }
constexpr bool is_signed_integer(heddle_type_t type) {
  return detail::element_types[type].kind == detail::element_kind::signed_integer;
}
constexpr bool is_floating_point(heddle_type_t type) {
  return detail::element_types[type].kind == detail::element_kind::floating_point;
}

}  // namespace heddle
