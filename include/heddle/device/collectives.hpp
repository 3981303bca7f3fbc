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
/// Elements that are combined are of any trivially copyable, default constructible type of at most
/// 1024 bytes, aligned to at most 64; the others of any trivially copyable type. A reduction is given
/// the PEs' elements, and what it has made of them, and nothing else.
///
/// The lists of all_gather_v and its kin are any memory that the kernel reads, and stay as they are
/// until all blocks have returned.
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

/// output[displacements[pe], ... + counts[pe]) = the input of each PE, which has counts[pe]
/// elements; the counts are alike on all PEs. In place: input is this PE's part of output.
template <class T, block_group B>
HEDDLE_FN void all_gather_v(const B& block, const team_ref& team, const T* input, T* output,
                            const size_t* counts, const size_t* displacements) {
  if (team.n_pes() <= channel_scratch::max_direct_pes)
    return detail::exchange_lists_in_kernel(block, team, operation::all_gather, input, output,
                                            {counts, nullptr, sizeof(T), team.my_pe()},
                                            {counts, displacements, sizeof(T), -1});
  for (int pe = 0; pe < team.n_pes(); ++pe)
    broadcast(block, team, input, output + displacements[pe], counts[pe], pe);
}

/// output[output_displacements[pe], ... + output_counts[pe]) = what `pe` has in its input for this
/// PE: input_counts[my_pe] elements from its input_displacements[my_pe] on, as many as
/// output_counts[pe]. The buffers are apart.
template <class T, block_group B>
HEDDLE_FN void all_to_all_v(const B& block, const team_ref& team, const T* input,
                            const size_t* input_counts, const size_t* input_displacements,
                            T* output, const size_t* output_counts,
                            const size_t* output_displacements) {
  const int n_pes = team.n_pes();
  if (n_pes <= channel_scratch::max_direct_pes)
    return detail::exchange_lists_in_kernel(block, team, operation::all_to_all, input, output,
                                            {input_counts, input_displacements, sizeof(T), -1},
                                            {output_counts, output_displacements, sizeof(T), -1});
  // Pair by pair, all PEs at the same distance.
  for (int distance = 0; distance < n_pes; ++distance) {
    const int to = (team.my_pe() + distance) % n_pes;
    const int from = (team.my_pe() + n_pes - distance) % n_pes;
    detail::transfer_in_kernel(
        block, team, detail::sends(input + input_displacements[to], input_counts[to], to),
        detail::receives(output + output_displacements[from], output_counts[from], from));
  }
}

/// output[i] = op over all PEs of their input[displacements[my_pe] + i], i < counts[my_pe]; the
/// counts are alike on all PEs. The pieces are combined one after another, PE by PE: for pieces of
/// one size reduce_scatter is faster. In place: output is this PE's piece of input.
template <class T, class Op = reduce_sum, block_group B>
HEDDLE_FN void reduce_scatter_v(const B& block, const team_ref& team, const T* input, T* output,
                                const size_t* counts, const size_t* displacements,
                                const Op& op = {}) {
  for (int pe = 0; pe < team.n_pes(); ++pe)
    reduce(block, team, input + displacements[pe], output, counts[pe], pe, op);
}

/// Sends n elements to `peer`, another PE, whose k-th receive from this one receives what the k-th
/// send sends; sizes are the same. Both are kernels' calls by as many blocks. A send may wait for
/// its receive: two PEs that send to each other call sendrecv. With n == 0 nothing is sent, and
/// nothing is to be received. Unlike collectives, they are the two PEs' matter alone.
template <class T, block_group B>
HEDDLE_FN void send(const B& block, const team_ref& team, const T* input, size_t n, int peer) {
  detail::transfer_in_kernel(block, team, detail::sends(input, n, peer), {});
}
template <class T, block_group B>
HEDDLE_FN void recv(const B& block, const team_ref& team, T* output, size_t n, int peer) {
  detail::transfer_in_kernel(block, team, {}, detail::receives(output, n, peer));
}
/// A send to `to` and a receive from `from` at the same time, which may be the same PE; what a PE
/// sends to itself it receives in the same call. The buffers are apart.
template <class T, block_group B>
HEDDLE_FN void sendrecv(const B& block, const team_ref& team, const T* input, size_t n_sent, int to,
                        T* output, size_t n_received, int from) {
  detail::transfer_in_kernel(block, team, detail::sends(input, n_sent, to),
                             detail::receives(output, n_received, from));
}

}  // namespace heddle
