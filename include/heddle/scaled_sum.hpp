// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/reduction.hpp>
#include <heddle/element.hpp>
#include <heddle/error.hpp>
#include <heddle/team.hpp>

namespace heddle {

/// A sum that is multiplied by a factor once it is complete, as an operation of a team's
/// collectives that combine elements of T (see heddle_op_create_scaled_sum):
///
///     const heddle::scaled_sum<heddle::bf16> mean(team, 1.0f / batch);
///     team.all_reduce(gradients, gradients, n, mean);
///
/// All PEs make theirs in the same order, with the same factor. It is of no use after the team.
template <element T>
class scaled_sum {
 public:
  /// What the sum is multiplied by: float for floating point of up to 4 bytes, otherwise T.
  using factor = typename accumulator<T>::type;

  scaled_sum(const team& team, factor value) : scaled_sum(team, &value, HEDDLE_SCALAR_HOST) {}
  /// A factor in memory of the device, which each collective's kernel reads.
  static scaled_sum by_device(const team& team, const factor* value) {
    return scaled_sum(team, value, HEDDLE_SCALAR_DEVICE);
  }
  ~scaled_sum() {
    if (op_ >= HEDDLE_FIRST_CREATED_OP) heddle_op_destroy(team_, op_);
  }
  scaled_sum(const scaled_sum&) = delete;
  scaled_sum& operator=(const scaled_sum&) = delete;

  operator op() const { return static_cast<op>(op_); }  // it stands for the operation

 private:
  scaled_sum(const team& team, const factor* value, heddle_scalar_t where) : team_(team.handle()) {
    detail::check(heddle_op_create_scaled_sum(
        team.handle(), static_cast<heddle_type_t>(element_type<T>), value, where, &op_));
  }

  heddle_team_t team_;  // not a copy of `team`, the last of which ends it
  heddle_op_t op_ = HEDDLE_SUM;
};

}  // namespace heddle
