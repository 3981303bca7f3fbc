// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/impl/collectives.hpp>

// clang-format off
/// Collectives as kernels call them, at the scope of a grid or of one block of it:
///
///     heddle::all_reduce(block, team, input, output, n);              every block of the grid, or
///     if (block.block_rank() == 0)
///       heddle::all_reduce(heddle::one_block(block), team, input, output, n);     one block alone
///
/// They mean what the functions of the same name in heddle.h do, count elements of type T, and go
/// by the limits that are built in. All threads of the blocks call, with the same arguments; every
/// PE of the team makes the same calls in the same order, with as many blocks. Of a grid all blocks
/// must be resident at the same time; up to 16 of them take part.
///
/// Buffers are any memory that the device's kernels reach; symmetric ones are used in place. When a
/// block returns, what it has written to the output may be read by its threads; what another block
/// has, after a wait for that block. The input may be written again then.
///
/// A kernel calls a team's collectives at one scope, all by the grid or all by the same block: what
/// blocks leave behind for the next call depends on how many there are. A team does one collective
/// at a time: neither calls on streams nor other kernels that use its
/// collectives may run beside one.
///
/// If the team is or gets aborted (a PE that is lost, a deadline), they return at once and the
/// outputs are not complete: team.aborted().
// clang-format on
namespace heddle {

/// Of elements of T: the smallest, the largest, their mean over n_pes, and their sum times a
/// factor.
template <class T>
HEDDLE_FN constexpr reduce_extremum reduce_min() {
  return detail::extremum_of<T>(false);
}
template <class T>
HEDDLE_FN constexpr reduce_extremum reduce_max() {
  return detail::extremum_of<T>(true);
}
template <class T>
HEDDLE_FN reduce_sum reduce_avg(int n_pes) {
  return reduce_sum::average_of(n_pes, standard::is_signed_v<T> && standard::is_integral_v<T>);
}
template <class T>
HEDDLE_FN reduce_sum reduce_scaled_sum(typename accumulator<T>::type factor) {
  using acc = typename accumulator<T>::type;
  return reduce_sum::scaled_by(static_cast<detail::combined<acc, reduce_sum>>(factor));
}

/// output[i] = op over all PEs of input[i], i < n. In place when output == input.
template <class T, class Op = reduce_sum, block_group B>
HEDDLE_FN void all_reduce(const B& block, const team_ref& team, const T* input, T* output, size_t n,
                          const Op& op = {}) {
  detail::reduce_in_kernel(block, team, reduce_kind::all_reduce, input, output, n, 0, op);
}

/// output[i] = op over all PEs of their input[my_pe * n + i], i < n. In place: output is this PE's
/// piece of input.
template <class T, class Op = reduce_sum, block_group B>
HEDDLE_FN void reduce_scatter(const B& block, const team_ref& team, const T* input, T* output,
                              size_t n, const Op& op = {}) {
  detail::reduce_in_kernel(block, team, reduce_kind::reduce_scatter, input, output, n, 0, op);
}

/// As all_reduce, on the root alone; on the other PEs `output` does not matter.
template <class T, class Op = reduce_sum, block_group B>
HEDDLE_FN void reduce(const B& block, const team_ref& team, const T* input, T* output, size_t n,
                      int root, const Op& op = {}) {
  detail::reduce_in_kernel(block, team, reduce_kind::reduce, input,
                           team.my_pe() == root ? output : nullptr, n, root, op);
}

/// The root's input[0, n) becomes output[0, n) of every PE.
template <class T, block_group B>
HEDDLE_FN void broadcast(const B& block, const team_ref& team, const T* input, T* output, size_t n,
                         int root) {
  const size_t piece = n * sizeof(T);
  detail::exchange_in_kernel(
      block, team, operation::broadcast, input, output,
      {team.my_pe() == root ? detail::everybody : detail::nobody, root, {piece, 0}, {piece, 0}});
}

/// output[pe * n, (pe + 1) * n) = input[0, n) of each PE. In place: input is this PE's part of
/// output.
template <class T, block_group B>
HEDDLE_FN void all_gather(const B& block, const team_ref& team, const T* input, T* output,
                          size_t n) {
  const size_t piece = n * sizeof(T);
  detail::exchange_in_kernel(block, team, operation::all_gather, input, output,
                             {detail::everybody, detail::everybody, {piece, 0}, {piece, piece}});
}

/// output[pe * n, (pe + 1) * n) = `pe`'s input[my_pe * n, (my_pe + 1) * n). The buffers are apart.
template <class T, block_group B>
HEDDLE_FN void all_to_all(const B& block, const team_ref& team, const T* input, T* output,
                          size_t n) {
  const size_t piece = n * sizeof(T);
  detail::exchange_in_kernel(
      block, team, operation::all_to_all, input, output,
      {detail::everybody, detail::everybody, {piece, piece}, {piece, piece}});
}

/// As all_gather for the root alone; on the other PEs `output` does not matter.
template <class T, block_group B>
HEDDLE_FN void gather(const B& block, const team_ref& team, const T* input, T* output, size_t n,
                      int root) {
  const size_t piece = n * sizeof(T);
  detail::exchange_in_kernel(block, team, operation::gather, input, output,
                             {root,
                              team.my_pe() == root ? detail::everybody : detail::nobody,
                              {piece, 0},
                              {piece, piece}});
}

/// output[0, n) = the root's input[my_pe * n, (my_pe + 1) * n). In place: the root's output is its
/// part of input.
template <class T, block_group B>
HEDDLE_FN void scatter(const B& block, const team_ref& team, const T* input, T* output, size_t n,
                       int root) {
  const size_t piece = n * sizeof(T);
  detail::exchange_in_kernel(block, team, operation::scatter, input, output,
                             {team.my_pe() == root ? detail::everybody : detail::nobody,
                              root,
                              {piece, piece},
                              {piece, 0}});
}

}  // namespace heddle
