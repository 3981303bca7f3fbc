// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/heddle.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "coll/all_reduce_kernels.hpp"
#include "coll/element_types.hpp"
#include "coll/plan.hpp"
#include "host/piece_list.hpp"
#include "host/plans_by_limit.hpp"
#include "host/scaled_sums.hpp"

namespace heddle {

/// A team's collectives that combine: checks a call, plans it and enqueues its kernel.
class reduction_calls {
 public:
  /// Of a team that outlives it.
  reduction_calls(heddle_team& team, const team_topology& topology);

  // As the functions of heddle.h.
  void all_reduce(const void* input, void* output, std::size_t count, heddle_type_t type,
                  heddle_op_t op, heddle_stream_t stream);
  void reduce_scatter(const void* input, void* output, std::size_t count, heddle_type_t type,
                      heddle_op_t op, heddle_stream_t stream);
  void reduce_scatter_v(const void* input, void* output, const std::size_t* counts,
                        const std::size_t* displacements, heddle_type_t type, heddle_op_t op,
                        heddle_stream_t stream);
  void reduce(const void* input, void* output, std::size_t count, heddle_type_t type,
              heddle_op_t op, int root, heddle_stream_t stream);

  [[nodiscard]] heddle::scaled_sums& scaled_sums() { return scaled_sums_; }
  void forget_plans() { kernels_.forget(); }
  void set_limit(int channels) { kernels_.set_limit(channels); }
  /// Of elements of a valid type.
  [[nodiscard]] std::string explain(collective what, std::size_t count, heddle_type_t type) const;

 private:
  struct cached_kernel {
    heddle_kernel_t kernel{};
    heddle::plan plan;
    reduction_parameters parameters;
  };
  /// By the power of two that holds the bytes.
  using cached_kernels = std::array<cached_kernel, 65>;
  struct call {
    const char* function;
    reduce_kind kind;
    int root = 0;
  };

  /// An operation, looked up.
  struct reduction {
    heddle_type_t type;
    heddle_op_t op;
    const scaled_sums::entry* scaled;  ///< null unless `op` is one that was made

    [[nodiscard]] heddle_op_t combines() const { return scaled ? HEDDLE_SUM : op; }
  };

  [[nodiscard]] reduction find(const char* function, heddle_type_t type, heddle_op_t op) const;
  void run(const call& call, const void* input, void* output, std::size_t count, heddle_type_t type,
           heddle_op_t op, heddle_stream_t stream);
  void compare(const call& call, std::size_t count, std::size_t bytes, const reduction& by);
  /// That the output is this PE's piece, or none of it in any.
  void require_apart(const char* function, const void* input, const piece_list& pieces,
                     const void* output) const;
  [[nodiscard]] plan_question question(collective what, std::size_t bytes,
                                       heddle_type_t type) const;
  const cached_kernel& kernel_for(reduce_kind kind, std::size_t bytes, const reduction& by);
  const cached_kernel& make_kernel(reduce_kind kind, std::size_t bucket, const reduction& by);

  heddle_team& team_;
  heddle::scaled_sums scaled_sums_;
  typed_all_reduce_args args_;  ///< with the team's constant parts
  /// By kind, type and operation; null before the first call.
  using kernels_by_call =
      std::array<std::array<std::array<std::unique_ptr<cached_kernels>, num_ops>, num_types>, 3>;
  plans_by_limit<kernels_by_call> kernels_;
};

}  // namespace heddle
