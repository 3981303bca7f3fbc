// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <heddle/device/collectives.hpp>
#include <heddle/device/launch.hpp>

#include "kernels/call_scope.hpp"
#include "kernels/reduction_call.hpp"

/// For reductions_of_*.cpp alone, which instantiate it.
namespace heddle::testing {

template <class T>
struct call_reduction {
  template <block_group Block>
  HEDDLE_FN void operator()(Block block, const reduction_call& call) const {
    call_in_scope(block, call.alone, [&](const auto& scope) { by_number(scope, call); });
  }

 private:
  template <block_group Block>
  HEDDLE_FN static void by_number(const Block& block, const reduction_call& call) {
    switch (call.reduction) {
      case HEDDLE_SUM:
        return by(block, call, reduce_sum());
      case HEDDLE_PROD:
        return by(block, call, reduce_prod());
      case HEDDLE_MIN:
        return by(block, call, reduce_min<T>());
      case HEDDLE_MAX:
        return by(block, call, reduce_max<T>());
      case HEDDLE_AVG:
        return by(block, call, reduce_avg<T>(call.team.n_pes()));
      default:
        return by(block, call, reduce_scaled_sum<T>(2));
    }
  }
  template <block_group Block, class Op>
  HEDDLE_FN static void by(const Block& block, const reduction_call& call, const Op& op) {
    const auto* input = static_cast<const T*>(call.input);
    auto* output = static_cast<T*>(call.output);
    switch (call.what) {
      case reducing::all_reduce:
        return all_reduce(block, call.team, input, output, call.n, op);
      case reducing::reduce_scatter:
        return reduce_scatter(block, call.team, input, output, call.n, op);
      case reducing::reduce:
        return reduce(block, call.team, input, output, call.n, call.root, op);
      case reducing::reduce_scatter_v:
        return reduce_scatter_v(block, call.team, input, output, call.counts, call.displacements,
                                op);
    }
  }
};

template <class T>
void launch_reduction(const stream& stream, int blocks, int threads, const reduction_call& call) {
  launch(stream, blocks, threads, call_reduction<T>{}, call);
}

}  // namespace heddle::testing
