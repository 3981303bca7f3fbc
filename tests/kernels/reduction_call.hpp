// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/team.hpp>
#include <heddle/stream.hpp>

/// The reductions that kernels call, without their C++ type. Each type takes seconds to compile,
/// and has its part of a few files: reductions_of_*.cpp.
namespace heddle::testing {

enum class reducing : int { all_reduce, reduce_scatter, reduce, reduce_scatter_v };

/// What a kernel calls.
struct reduction_call {
  team_ref team;
  reducing what;
  int reduction;  ///< of heddle_op_t, or scaled_by_two
  bool alone;     ///< by the last block, and not by the grid
  const void* input;
  void* output;
  heddle::size_t n;
  int root;
  const heddle::size_t* counts;  ///< of reduce_scatter_v
  const heddle::size_t* displacements;
};

/// Instantiated in reductions_of_*.cpp.
template <class T>
void launch_reduction(const stream& stream, int blocks, int threads, const reduction_call& call);

}  // namespace heddle::testing
