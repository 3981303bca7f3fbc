// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/coll/pair_link.hpp>

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
class all_reduce_in_halves : pair_link<T, Op, G> {
  using base = pair_link<T, Op, G>;
  using base::ahead, base::capacity, base::group_, base::link_, base::peer_, base::places,
      base::team_;

 public:
  using base::base;

  /// False if the team was aborted. `input` and `output` are the same or apart.
  HEDDLE_FN bool run(const T* input, T* output, size_t count, reduce_step<Op> reduction) {
    const segment<T> mine(count, 2, this->is_first_ ? 0 : 1);
    const segment<T> others(count, 2, this->is_first_ ? 1 : 0);
    const size_t chunks = (segment<T>(count, 2, 0).count + capacity - 1) / capacity;
    first_ = inputs().received;
    const uint64_t place = team_.symmetric_offset(output, count * sizeof(T));
    is_staged_ = place == nowhere;
    if (group_.rank() == 0) team_.tell(&results().credit, place, peer_);

    size_t sent = 0;
    bool going = true;
    for (size_t chunk = 0; chunk < chunks + lag && going; ++chunk) {
      for (; sent < chunks && sent < chunk + ahead; ++sent) send_input(sent, input, others);
      if (chunk < chunks) going = combine(chunk, input, output, mine, reduction);
      if (going && chunk >= lag) going = take_result(chunk - lag, output, others);
    }
    group_.sync();
    if (group_.rank() == 0) {
      for (size_t i = 0; i < places; ++i) {
        this->take_back(inputs_[i]);
        this->take_back(results_[i]);
      }
      if (going) inputs().received = first_ + chunks;
    }
    return going;
  }

 private:
  static constexpr size_t lag = 1;  ///< results are taken so many chunks later
  static constexpr uint64_t nowhere = ~uint64_t{0};

  /// What has arrived of inputs and results, and where the other's output is (`credit`). Words with
  /// flags (LL) do not go over the network: their counters are free.
  HEDDLE_FN link_memory::counters& inputs() const { return this->steps(); }
  HEDDLE_FN link_memory::counters& results() const { return this->steps(protocol::ll); }
  /// In turns from call to call, those of all_reduce_of_two too: the other may still combine what
  /// is in the last one, until it sends something of this call.
  HEDDLE_FN size_t place_of(size_t chunk) const { return base::place_of(first_ + chunk); }
  HEDDLE_FN static size_t size_of(const segment<T>& half, size_t chunk) {
    const size_t begin = chunk * capacity;
    if (begin >= half.count) return 0;
    return half.count - begin < capacity ? half.count - begin : capacity;
  }

  HEDDLE_FN void send_input(size_t chunk, const T* input, const segment<T>& half) {
    if (group_.rank() != 0) return;
    this->take_back(inputs_[chunk % places]);
    inputs_[chunk % places] =
        this->send(link_->all_simple() + place_of(chunk), input + half.begin + chunk * capacity,
                   size_of(half, chunk), &inputs().tail, first_ + chunk);
  }

  HEDDLE_FN bool combine(size_t chunk, const T* input, T* output, const segment<T>& half,
                         reduce_step<Op> reduction) {
    if (!group_.all(this->wait_for(inputs().tail, first_ + chunk))) return false;
    const size_t at = half.begin + chunk * capacity;
    base::combine(input + at, link_->all_simple() + place_of(chunk), output + at,
                  size_of(half, chunk), reduction);
    if (!team_.may_bring(group_)) return false;
    if (group_.rank() != 0) return true;
    const uint64_t there = load(&results().credit, relaxed);
    byte* to = there == nowhere ? link_->all_outgoing() + place_of(chunk)
                                : team_.heap() + there + at * sizeof(T);
    this->take_back(results_[chunk % places]);
    results_[chunk % places] =
        this->send(to, output + at, size_of(half, chunk), &results().tail, first_ + chunk);
    return true;
  }

  HEDDLE_FN bool take_result(size_t chunk, T* output, const segment<T>& half) {
    if (!group_.all(this->wait_for(results().tail, first_ + chunk))) return false;
    if (is_staged_)
      copy(group_, reinterpret_cast<byte*>(output + half.begin + chunk * capacity),
           link_->all_outgoing() + place_of(chunk), size_of(half, chunk) * sizeof(T));
    group_.sync();
    return true;
  }

  bool is_staged_ = false;
  uint64_t first_ = 0;
  static_assert(places == 2, "as many initializers");
  uint64_t inputs_[places] = {team_ref::not_posted, team_ref::not_posted};
  uint64_t results_[places] = {team_ref::not_posted, team_ref::not_posted};
};

}  // namespace heddle::detail
