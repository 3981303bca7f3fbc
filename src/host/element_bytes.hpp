// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/heddle.h>

#include <cstddef>

#include "coll/element_types.hpp"
#include "support/throw_error.hpp"

namespace heddle {

/// What a process has addresses for.
inline constexpr std::size_t most_bytes = std::size_t{1} << 47;

/// `all` = n * bytes; false if that is more. (A division would take longer than many a hop.)
inline bool fits(std::size_t n, std::size_t bytes, std::size_t& all) {
  return !__builtin_mul_overflow(n, bytes, &all) && all <= most_bytes;
}

/// Throws HEDDLE_ERROR_INVALID_ARGUMENT, with the function's name.
inline std::size_t element_bytes(const char* function, heddle_type_t type) {
  if (!is_type(type)) [[unlikely]]
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT, "{}: {} is not a heddle_type_t", function,
                static_cast<int>(type));
  return bytes_of(type);
}

/// Of `count` elements; throws as well if no address reaches so many.
inline std::size_t bytes_of_elements(const char* function, std::size_t count, heddle_type_t type) {
  const std::size_t size = element_bytes(function, type);
  std::size_t bytes = 0;
  if (!fits(count, size, bytes)) [[unlikely]]
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "{}: {} elements of {} bytes are more than an address can reach", function, count,
                size);
  return bytes;
}

}  // namespace heddle
