// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/collectives.hpp>
#include <heddle/device/launch.hpp>

/// Collectives that combine by a reduction of the user's own (see reduction.hpp), from the host, on
/// every device that this file is compiled for:
///
///     heddle::all_reduce_by(team, input, output, n, largest_magnitude(), stream);
///
/// As team.all_reduce and its like otherwise; the reduction is copied, and trivially copyable. So
/// are elements, of any default constructible type of at most 1024 bytes: an argmax combines
/// {value, index}. Buffers that are registered are used in place by the address that their
/// registration gives.
namespace heddle {

namespace detail {

template <reduce_kind Kind>
struct reduce_by_kernel {
  template <block_group Block, class T, class Op>
  HEDDLE_FN void operator()(Block block, const team_ref& team, const T* input, T* output, size_t n,
                            int root, const Op& op) const {
    reduce_in_kernel(block, team, Kind, input, output, n, root, op);
  }
};

template <reduce_kind Kind, class T, class Op>
void launch_reduction(const team& team, const T* input, T* output, std::size_t n, int root,
                      const Op& op, on_stream where) {
  constexpr auto function = Kind == reduce_kind::all_reduce       ? "all_reduce_by"
                            : Kind == reduce_kind::reduce_scatter ? "reduce_scatter_by"
                                                                  : "reduce_by";
  const bool has_output = Kind != reduce_kind::reduce || team.my_pe() == root;
  if (n > 0 && (!input || (has_output && !output)))
    throw error(
        HEDDLE_ERROR_INVALID_ARGUMENT,
        std::string(input ? "output" : "input") + " is NULL, with a count of " + std::to_string(n));
  const bool scatters = Kind == reduce_kind::reduce_scatter;
  const std::size_t bytes = bytes_of<T>(n);
  const std::size_t pieces = scatters ? static_cast<std::size_t>(team.n_pes()) : 1;
  constexpr std::size_t addresses = std::size_t{1} << 47;
  if (bytes > addresses / pieces)
    throw error(HEDDLE_ERROR_INVALID_ARGUMENT, "a count of " + std::to_string(n) + " elements of " +
                                                   std::to_string(sizeof(T)) +
                                                   " bytes is more memory than a process has");
  team.require_same(function, {{"count", n},
                               {"bytes of an element", sizeof(T)},
                               {"root", static_cast<std::uint64_t>(root)}});
  const auto in = reinterpret_cast<std::uintptr_t>(input);
  const auto out = reinterpret_cast<std::uintptr_t>(output);
  const std::size_t place = scatters ? bytes * static_cast<std::size_t>(team.my_pe()) : 0;
  if (has_output && out != in + place && out < in + pieces * bytes && in < out + bytes)
    throw error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "input and output overlap; they must be apart or, in place, the output " +
                    std::to_string(place) + " bytes into the input");
  int grid;
  int block;
  check(heddle_launch_shape(team.handle(), pieces * bytes, &grid, &block));
  launch_collective(team, where, grid, block, reduce_by_kernel<Kind>{}, team.ref(), input, output,
                    heddle::size_t{n}, root, op);
}

}  // namespace detail

/// output[i] = op over all PEs of input[i], i < n. In place when output == input.
template <class T, class Op>
void all_reduce_by(const team& team, const T* input, T* output, std::size_t n, const Op& op,
                   on_stream where = {}) {
  detail::launch_reduction<reduce_kind::all_reduce>(team, input, output, n, 0, op, where);
}

/// output[i] = op over all PEs of their input[my_pe * n + i], i < n. In place: output is this PE's
/// piece of input.
template <class T, class Op>
void reduce_scatter_by(const team& team, const T* input, T* output, std::size_t n, const Op& op,
                       on_stream where = {}) {
  detail::launch_reduction<reduce_kind::reduce_scatter>(team, input, output, n, 0, op, where);
}

/// As all_reduce_by, on the root alone; on the other PEs `output` does not matter.
template <class T, class Op>
void reduce_by(const team& team, const T* input, T* output, std::size_t n, const Op& op, int root,
               on_stream where = {}) {
  if (root < 0 || root >= team.n_pes())
    throw error(HEDDLE_ERROR_INVALID_ARGUMENT, "reduce_by: root " + std::to_string(root) +
                                                   " is not one of the team's " +
                                                   std::to_string(team.n_pes()) + " PEs");
  detail::launch_reduction<reduce_kind::reduce>(
      team, input, team.my_pe() == root ? output : nullptr, n, root, op, where);
}

}  // namespace heddle
