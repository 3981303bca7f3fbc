// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/coll/pair_link.hpp>

/// AllReduce and ReduceScatter of two PEs that the network joins: each sends all that it has of
/// what the other gets, and combines what comes, in the order of their positions, so that the
/// results are bitwise equal. As many bytes as around a ring of two, in one hop.
///
/// Chunks go to the places of a link, four slots each. A PE is at most `ahead` chunks further in
/// sending than in combining; hence when it sends to a place again, 2 * ahead chunks later, it has
/// got a chunk that the peer sent after it had emptied that place: no credits are needed.
namespace heddle::detail {

template <class T, class Op, group G>
class all_reduce_of_two : pair_link<T, Op, G> {
  using base = pair_link<T, Op, G>;
  using base::ahead, base::capacity, base::group_, base::steps;

 public:
  using base::base;

  /// `others`, `mine`: this PE's input to the other's result and to its own, the same in an
  /// AllReduce; `output` is `mine`, or apart. False if the team was aborted.
  HEDDLE_APART HEDDLE_FN bool run(const T* others, const T* mine, T* output, size_t count,
                                  reduce_step<Op> reduction) {
    const uint64_t first = steps().received;
    const size_t chunks = (count + capacity - 1) / capacity;
    const auto size_of = [=](size_t chunk) {
      return count - chunk * capacity < capacity ? count - chunk * capacity : capacity;
    };
    size_t sent = 0;
    bool going = true;
    for (size_t chunk = 0; chunk < chunks && going; ++chunk) {
      for (; sent < chunks && sent < chunk + ahead; ++sent)
        send_input(first + sent, others + sent * capacity, size_of(sent));
      going = receive(first + chunk, mine + chunk * capacity, output + chunk * capacity,
                      size_of(chunk), reduction);
    }
    group_.sync();
    if (group_.rank() == 0) {
      for (size_t i = 0; !going && i < ahead; ++i) this->take_back(borrowed_[i]);
      if (going) steps().received = first + chunks;
    }
    return going;
  }

 private:
  HEDDLE_FN byte* place_of(uint64_t step) const {
    return this->link_->all_simple() + base::place_of(step);
  }

  HEDDLE_FN void send_input(uint64_t step, const T* from, size_t n) {
    if (group_.rank() == 0)
      borrowed_[step % ahead] = this->send(place_of(step), from, n, &steps().tail, step);
  }

  HEDDLE_FN bool receive(uint64_t step, const T* mine, T* output, size_t n,
                         reduce_step<Op> reduction) {
    const bool here = this->wait_for(steps().tail, step);
    // In place, the result overwrites what is sent.
    if (here && group_.rank() == 0) this->take_back(borrowed_[step % ahead]);
    if (!group_.all(here)) return false;
    this->combine(mine, place_of(step), output, n, reduction);
    return true;
  }

  uint64_t borrowed_[ahead] = {team_ref::not_posted};
};

}  // namespace heddle::detail
