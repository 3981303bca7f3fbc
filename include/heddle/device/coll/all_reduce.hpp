// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/coll/scratch.hpp>
#include <heddle/device/reduction.hpp>
#include <heddle/device/team.hpp>

namespace heddle {

/// The neighbours of a PE in the patterns of a team, as indices in the team; -1 for none. Made on
/// the host by src/coll/topology.hpp; the same for every channel.
struct team_topology {
  struct tree {
    int parent = -1;
    int place = 0;  ///< which child of its parent this PE is
    int children[2] = {-1, -1};
    /// Where the root of a call is, seen from here: a child or below it (its place), `here`, or not
    /// below this PE.
    int to_root = elsewhere;
    static constexpr int here = -1;
    static constexpr int elsewhere = -2;
  };
  /// PEs that reach each other by memory, where every domain has as many.
  struct domains_type {
    int count = 1;  ///< of domains; 1: no hierarchy
    int size = 1;   ///< PEs of each
    int mine = 0;
    int index = 0;                 ///< this PE's in its own
    const int32_t* pes = nullptr;  ///< domain by domain
    HEDDLE_FN int pe(int domain, int place) const { return pes[domain * size + place]; }
  };
  int ring_position = 0;
  int ring_previous = 0;
  int ring_next = 0;
  int ring_root = 0;  ///< the position of the root of a call
  tree trees[2];      ///< a double binary tree: each PE is inner in at most one
  domains_type domains;
};

/// What becomes of the combination of all inputs.
enum class reduce_kind : int {
  all_reduce = 0,      ///< every PE has it
  reduce_scatter = 1,  ///< input has n_pes pieces of `count`; PE i has the combination of piece i
  reduce = 2           ///< the root has it
};

/// For messages.
HEDDLE_FN inline operation operation_of(reduce_kind kind) {
  return kind == reduce_kind::reduce           ? operation::reduce
         : kind == reduce_kind::reduce_scatter ? operation::reduce_scatter
                                               : operation::all_reduce;
}

/// A collective that combines, as its kernels take it, beside its reduction. Every block is one
/// channel and does its part of the elements.
struct all_reduce_args {
  team_ref team{};
  team_topology topology{};
  const void* input = nullptr;
  void* output = nullptr;
  size_t count = 0;  ///< elements of the output
  reduce_kind kind = reduce_kind::all_reduce;
  int root = 0;                                    ///< of a reduce
  detail::stores stores = detail::stores::cached;  ///< of two_shot on the host
  /// On a ring combinations travel as wide<T>, and are rounded once.
  bool wide = false;
};

namespace detail {

/// n divided by `parts`, rounded up. Without a division for one and two, which are most calls
/// between host processors, where it takes a tenth of a hop.
HEDDLE_FN inline size_t share_of(size_t n, int parts) {
  if (parts == 1) return n;
  if (parts == 2) return (n + 1) / 2;
  return (n + static_cast<size_t>(parts) - 1) / static_cast<size_t>(parts);
}

/// The elements of channel `channel` of `channels`: contiguous, borders on cache lines.
template <class T>
struct channel_part {
  const T* input;
  T* output;
  size_t first;
  size_t count;

  HEDDLE_FN channel_part(const all_reduce_args& args, int channel, int channels) {
    const size_t granule = per_line<T>;
    const size_t granules = (args.count + granule - 1) / granule;
    const size_t each = share_of(granules, channels) * granule;
    first = each * static_cast<size_t>(channel);
    if (first > args.count) first = args.count;
    count = args.count - first < each ? args.count - first : each;
    input = static_cast<const T*>(args.input) + first;
    output = args.output ? static_cast<T*>(args.output) + first : nullptr;
  }
};

/// Segment `index` of n elements cut into `parts`, borders on cache lines.
template <class T>
struct segment {
  size_t begin;
  size_t count;

  HEDDLE_FN segment(size_t n, int parts, int index) {
    const size_t granule = per_line<T>;
    const size_t granules = (n + granule - 1) / granule;
    const size_t each = share_of(granules, parts) * granule;
    begin = each * static_cast<size_t>(index);
    if (begin > n) begin = n;
    count = n - begin < each ? n - begin : each;
  }
};

}  // namespace detail

}  // namespace heddle
