// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/coll/all_reduce.hpp>

/// AllReduce of two PEs that the network joins: each sends all that it has, and combines what
/// comes, in the order of their positions, so that the results are bitwise equal. As many bytes as
/// around a ring of two, in one hop.
///
/// Chunks go to the places of a link, four slots each. A PE is at most `ahead` chunks further in
/// sending than in combining; hence when it sends to a place again, 2 * ahead chunks later, it has
/// got a chunk that the peer sent after it had emptied that place: no credits are needed.
namespace heddle::detail {

template <class T, class Op, group G>
class all_reduce_of_two {
 public:
  HEDDLE_FN all_reduce_of_two(G group, const team_ref& team, link_memory* link, int peer,
                              bool is_first)
      : group_(group), team_(team), link_(link), peer_(peer), is_first_(is_first) {}

  /// False if the team was aborted. `input` and `output` are the same or apart.
  HEDDLE_APART HEDDLE_FN bool run(const T* input, T* output, size_t count, finish_for finish) {
    const uint64_t first = steps().received;
    const size_t chunks = (count + capacity - 1) / capacity;
    const auto size_of = [=](size_t chunk) {
      return count - chunk * capacity < capacity ? count - chunk * capacity : capacity;
    };
    size_t sent = 0;
    bool going = true;
    for (size_t chunk = 0; chunk < chunks && going; ++chunk) {
      for (; sent < chunks && sent < chunk + ahead; ++sent)
        send(first + sent, input + sent * capacity, size_of(sent) * sizeof(T));
      going = receive(first + chunk, input + chunk * capacity, output + chunk * capacity,
                      size_of(chunk), finish);
    }
    group_.sync();
    if (group_.rank() == 0) {
      for (size_t i = 0; !going && i < ahead; ++i) take_back_input(i);
      if (going) steps().received = first + chunks;
    }
    return going;
  }

 private:
  static constexpr size_t chunk_bytes = 4 * link_memory::simple_slot;
  static constexpr size_t capacity = chunk_bytes / sizeof(T);
  static constexpr size_t places = sizeof(link_memory::simple) / chunk_bytes;
  static constexpr size_t ahead = places / 2;

  HEDDLE_FN link_memory::counters& steps() const {
    return link_->steps[static_cast<int>(protocol::simple)];
  }
  HEDDLE_FN byte* place_of(uint64_t step) const {
    return link_->simple[0] + step % places * chunk_bytes;
  }

  HEDDLE_FN void send(uint64_t step, const T* from, size_t bytes) {
    if (group_.rank() != 0) return;
    borrowed_[step % ahead] = team_.send_borrowed(
        place_of(step), reinterpret_cast<const byte*>(from), bytes, &steps().tail, step + 1, peer_);
  }

  HEDDLE_FN bool receive(uint64_t step, const T* mine, T* output, size_t n, finish_for finish) {
    bool here = true;
    if (group_.rank() == 0) {
      here = team_.wait_by_thread(&steps().tail, cmp::ge, step + 1, operation::link_receive,
                                  peer_) == wait_status::ok;
      // In place, the result overwrites what is sent.
      if (here) take_back_input(step);
    }
    if (!group_.all(here)) return false;
    const void* theirs = place_of(step);
    operand_list<T, 2> with;
    with.add_source(is_first_ ? static_cast<const void*>(mine) : theirs);
    with.add_source(is_first_ ? theirs : static_cast<const void*>(mine));
    with.add_destination(output);
    reduce_copy<T, Op>(group_, with.view(), n, finish);
    group_.sync();
    return true;
  }

  HEDDLE_FN void take_back_input(uint64_t step) {
    team_.await_borrowed(borrowed_[step % ahead], peer_);
    borrowed_[step % ahead] = team_ref::not_posted;
  }

  G group_;
  const team_ref& team_;
  link_memory* link_;
  int peer_;
  bool is_first_;
  uint64_t borrowed_[ahead] = {team_ref::not_posted};
};

}  // namespace heddle::detail
