// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/heddle.h>

#include <cstdint>
#include <map>

namespace heddle {

/// The scaled sums that were made for a team, by the numbers they have as operations. A number is
/// not used again.
class scaled_sums {
 public:
  /// A sum that is multiplied by a factor once it is complete.
  struct entry {
    heddle_type_t type = HEDDLE_FLOAT32;
    std::uint64_t factor = 0;         ///< the bits of an accumulator of the type, if read already
    const void* on_device = nullptr;  ///< where the kernels read it, otherwise
  };

  heddle_op_t create(heddle_type_t type, const void* factor, heddle_scalar_t where);
  void destroy(heddle_op_t op);
  /// Throws HEDDLE_ERROR_INVALID_ARGUMENT if there is no such one, or it is for another type.
  [[nodiscard]] const entry& find(const char* function, heddle_op_t op, heddle_type_t type) const;

 private:
  std::map<int, entry> made_;
  int next_ = HEDDLE_FIRST_CREATED_OP;
};

}  // namespace heddle
