// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "host/scaled_sums.hpp"

#include <algorithm>
#include <cstring>

#include "coll/element_types.hpp"
#include "host/element_bytes.hpp"
#include "support/throw_error.hpp"

namespace heddle {

namespace {

/// Small floats are accumulated in float.
std::size_t factor_bytes(heddle_type_t type) {
  return is_floating_point(type) ? std::max(bytes_of(type), sizeof(float)) : bytes_of(type);
}

}  // namespace

heddle_op_t scaled_sums::create(heddle_type_t type, const void* factor, heddle_scalar_t where) {
  constexpr auto function = "heddle_op_create_scaled_sum";
  element_bytes(function, type);
  const std::size_t bytes = factor_bytes(type);
  if (!factor) throw_error(HEDDLE_ERROR_INVALID_ARGUMENT, "{}: factor is NULL", function);
  entry sum{.type = type};
  switch (where) {
    case HEDDLE_SCALAR_HOST:
      std::memcpy(&sum.factor, factor, bytes);
      break;
    case HEDDLE_SCALAR_DEVICE:
      if (reinterpret_cast<std::uintptr_t>(factor) % bytes != 0)
        throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                    "{}: factor {} must be aligned to its {} bytes, of a sum of {}", function,
                    factor, bytes, name_of(type));
      sum.on_device = factor;
      break;
    default:
      throw_error(HEDDLE_ERROR_INVALID_ARGUMENT, "{}: {} is not a heddle_scalar_t", function,
                  static_cast<int>(where));
  }
  made_.emplace(next_, sum);
  return static_cast<heddle_op_t>(next_++);
}

void scaled_sums::destroy(heddle_op_t op) {
  if (made_.erase(op) == 0)
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "heddle_op_destroy: {} is no operation that was made for this team",
                static_cast<int>(op));
}

const scaled_sums::entry& scaled_sums::find(const char* function, heddle_op_t op,
                                            heddle_type_t type) const {
  const auto found = made_.find(op);
  if (found == made_.end())
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "{}: {} is not a heddle_op_t, and none that was made for this team", function,
                static_cast<int>(op));
  if (found->second.type != type)
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "{}: operation {} was made for elements of {}, not of {}", function,
                static_cast<int>(op), name_of(found->second.type), name_of(type));
  return found->second;
}

}  // namespace heddle
