// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/coll/all_reduce.hpp>

/// AllReduce of two PEs that the network joins, for many bytes: each combines one half, and sends
/// the result straight into the other's output. As many bytes as in all_reduce_of_two.hpp, of which
/// each PE reads and combines half as many; two hops, whose chunks make one stream:
///
///     me                                               the other
///     --                                               ---------
///     where my output is  -------------------------->
///     its half of my input, chunk c  --------------->  place c % places; combines
///     place c % places; combines  <------------------  my half of its input, chunk c
///     result of my half, chunk c  ------------------>  its output; or a place, and it copies
///
/// An output that is not in the symmetric heap gets its results by way of places. No credits are
/// needed: a PE sends to a place of inputs again when it has got the result of what was there, and
/// to a place of results when it has got an input that the other sent after taking what was there.
namespace heddle::detail {

template <class T, class Op, group G>
class all_reduce_in_halves {
 public:
  HEDDLE_FN all_reduce_in_halves(G group, const team_ref& team, link_memory* link, int peer,
                                 bool is_first)
      : group_(group), team_(team), link_(link), peer_(peer), is_first_(is_first) {}

  /// False if the team was aborted. `input` and `output` are the same or apart.
  HEDDLE_FN bool run(const T* input, T* output, size_t count, finish_for finish) {
    const segment<T> mine(count, 2, is_first_ ? 0 : 1);
    const segment<T> others(count, 2, is_first_ ? 1 : 0);
    const size_t chunks = (segment<T>(count, 2, 0).count + capacity - 1) / capacity;
    first_ = inputs().received;
    const uint64_t place = team_.symmetric_offset(output, count * sizeof(T));
    is_staged_ = place == nowhere;
    if (group_.rank() == 0) team_.tell(&results().credit, place, peer_);

    size_t sent = 0;
    bool going = true;
    for (size_t chunk = 0; chunk < chunks + lag && going; ++chunk) {
      for (; sent < chunks && sent < chunk + ahead; ++sent) send_input(sent, input, others);
      if (chunk < chunks) going = combine(chunk, input, output, mine, finish);
      if (going && chunk >= lag) going = take_result(chunk - lag, output, others);
    }
    group_.sync();
    if (group_.rank() == 0) {
      for (size_t i = 0; i < places; ++i) {
        await(inputs_[i]);
        await(results_[i]);
      }
      if (going) inputs().received = first_ + chunks;
    }
    return going;
  }

 private:
  static constexpr size_t chunk_bytes = 4 * link_memory::simple_slot;
  static constexpr size_t capacity = chunk_bytes / sizeof(T);
  static constexpr size_t places = sizeof(link_memory::simple) / chunk_bytes;
  static constexpr size_t lag = 1;  ///< results are taken so many chunks later
  static constexpr size_t ahead = places / 2;
  static constexpr uint64_t nowhere = ~uint64_t{0};

  /// What has arrived of inputs and results, and where the other's output is (`credit`). Words with
  /// flags (LL) do not go over the network: their counters are free.
  HEDDLE_FN link_memory::counters& inputs() const {
    return link_->steps[static_cast<int>(protocol::simple)];
  }
  HEDDLE_FN link_memory::counters& results() const {
    return link_->steps[static_cast<int>(protocol::ll)];
  }
  /// In turns from call to call, those of all_reduce_of_two too: the other may still combine what
  /// is in the last one, until it sends something of this call.
  HEDDLE_FN size_t place_of(size_t chunk) const { return (first_ + chunk) % places * chunk_bytes; }
  HEDDLE_FN static size_t size_of(const segment<T>& half, size_t chunk) {
    const size_t begin = chunk * capacity;
    if (begin >= half.count) return 0;
    return half.count - begin < capacity ? half.count - begin : capacity;
  }

  HEDDLE_FN void send_input(size_t chunk, const T* input, const segment<T>& half) {
    if (group_.rank() != 0) return;
    await(inputs_[chunk % places]);
    inputs_[chunk % places] =
        send(link_->simple[0] + place_of(chunk), input + half.begin + chunk * capacity,
             size_of(half, chunk), &inputs().tail, chunk);
  }

  HEDDLE_FN bool combine(size_t chunk, const T* input, T* output, const segment<T>& half,
                         finish_for finish) {
    if (!arrived(inputs().tail, chunk)) return false;
    const size_t at = half.begin + chunk * capacity;
    const void* theirs = link_->simple[0] + place_of(chunk);
    operand_list<T, 2> with;
    with.add_source(is_first_ ? static_cast<const void*>(input + at) : theirs);
    with.add_source(is_first_ ? theirs : static_cast<const void*>(input + at));
    with.add_destination(output + at);
    reduce_copy<T, Op>(group_, with.view(), size_of(half, chunk), finish);
    group_.sync();
    if (group_.rank() != 0) return true;
    const uint64_t there = load(&results().credit, relaxed);
    byte* to = there == nowhere ? link_->outgoing[0] + place_of(chunk)
                                : team_.heap() + there + at * sizeof(T);
    await(results_[chunk % places]);
    results_[chunk % places] = send(to, output + at, size_of(half, chunk), &results().tail, chunk);
    return true;
  }

  HEDDLE_FN bool take_result(size_t chunk, T* output, const segment<T>& half) {
    if (!arrived(results().tail, chunk)) return false;
    if (is_staged_)
      copy(group_, reinterpret_cast<byte*>(output + half.begin + chunk * capacity),
           link_->outgoing[0] + place_of(chunk), size_of(half, chunk) * sizeof(T));
    group_.sync();
    return true;
  }

  HEDDLE_FN bool arrived(uint64_t& tail, size_t chunk) {
    bool here = true;
    if (group_.rank() == 0)
      here = team_.wait_by_thread(&tail, cmp::ge, first_ + chunk + 1, operation::link_receive,
                                  peer_) == wait_status::ok;
    return group_.all(here);
  }

  HEDDLE_FN uint64_t send(byte* to, const T* from, size_t n, uint64_t* tail, size_t chunk) {
    return team_.send_borrowed(to, reinterpret_cast<const byte*>(from), n * sizeof(T), tail,
                               first_ + chunk + 1, peer_);
  }
  HEDDLE_FN void await(uint64_t& borrowed) {
    if (borrowed != team_ref::not_posted) team_.await_borrowed(borrowed, peer_);
    borrowed = team_ref::not_posted;
  }

  G group_;
  const team_ref& team_;
  link_memory* link_;
  int peer_;
  bool is_first_;
  bool is_staged_ = false;
  uint64_t first_ = 0;
  uint64_t inputs_[places] = {team_ref::not_posted, team_ref::not_posted};
  uint64_t results_[places] = {team_ref::not_posted, team_ref::not_posted};
};

}  // namespace heddle::detail
