// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/coll/all_reduce.hpp>

namespace heddle::detail {

/// What reductions between two PEs that the network joins are made of: all_reduce_of_two.hpp and
/// all_reduce_in_halves.hpp. Thread 0 of the group sends and waits.
template <class T, class Op, group G>
class pair_link {
 public:
  HEDDLE_FN pair_link(G group, const team_ref& team, link_memory* link, int peer, bool is_first)
      : group_(group), team_(team), link_(link), peer_(peer), is_first_(is_first) {}

 protected:
  /// The memory in which the peer's chunks arrive, `places` at a time, is cut so.
  static constexpr size_t chunk_bytes = 4 * link_memory::simple_slot;
  static constexpr size_t capacity = chunk_bytes / sizeof(T);
  static constexpr size_t places = sizeof(link_memory::simple) / chunk_bytes;
  static constexpr size_t ahead = places / 2;

  HEDDLE_FN link_memory::counters& steps(protocol which = protocol::simple) const {
    return link_->steps[static_cast<int>(which)];
  }
  HEDDLE_FN static size_t place_of(uint64_t step) { return step % places * chunk_bytes; }

  /// By thread 0: the source stays until take_back of what this returns.
  HEDDLE_FN uint64_t send(byte* to, const T* from, size_t n, uint64_t* tail, uint64_t step) const {
    return team_.send_borrowed(to, reinterpret_cast<const byte*>(from), n * sizeof(T), tail,
                               step + 1, peer_);
  }
  HEDDLE_FN void take_back(uint64_t& borrowed) const {
    team_.await_borrowed(borrowed, peer_);
    borrowed = team_ref::not_posted;
  }
  /// False, to thread 0, if the team was aborted.
  HEDDLE_FN bool wait_for(const uint64_t& tail, uint64_t step) const {
    return group_.rank() != 0 || team_.await_count(&tail, step + 1, operation::link_receive, peer_);
  }
  /// In the order of the positions, so that both have the same bits.
  HEDDLE_FN void combine(const T* mine, const void* theirs, T* output, size_t n,
                         reduce_step<Op> reduction) const {
    operand_list<T, 2> with;
    with.add_source(is_first_ ? static_cast<const void*>(mine) : theirs);
    with.add_source(is_first_ ? theirs : static_cast<const void*>(mine));
    with.add_destination(output);
    reduce_copy<T, Op>(group_, with.view(), n, reduction);
    group_.sync();
  }

  G group_;
  const team_ref& team_;
  link_memory* link_;
  int peer_;
  bool is_first_;
};

}  // namespace heddle::detail
