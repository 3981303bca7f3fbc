// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <heddle/device_array.hpp>
#include <heddle/heddle.hpp>
#include <heddle/symmetric_array.hpp>
#include <string>
#include <vector>

#include "kernels/on_device.hpp"

namespace heddle::testing {

using lengths = std::vector<std::size_t>;

/// What `from` sends to `to` in that call, element i.
inline int value_of(int call, int from, int to, std::size_t i) {
  return call * 1'000'003 + from * 10'007 + to * 101 + static_cast<int>(i % 97);
}

/// One PE's buffers and calls: each writes its input, poisons its output and checks every element
/// of both.
class caller {
 public:
  caller(const runtime& self, const team& team, std::size_t most, bool symmetric)
      : team_(team),
        me_(team.my_pe()),
        n_pes_(static_cast<std::size_t>(team.n_pes())),
        queue_(self.create_stream()),
        heap_(self, symmetric ? 2 * n_pes_ * most : 0),
        own_(self, symmetric ? 0 : 2 * n_pes_ * most),
        input_(symmetric ? heap_.data() : own_.data()),
        output_(input_ + n_pes_ * most),
        capacity_(n_pes_ * most) {}

  /// The number of the next call, which all PEs have in common. They count from 1 by themselves.
  void count_from(int call) { call_ = call - 1; }

  void broadcast(std::size_t n, int root, bool in_place) {
    start("broadcast", n);
    if (me_ == root) fill(in_place ? output_ : input_, n, me_, 0);
    give();
    team_.broadcast(me_ != root ? nullptr : in_place ? output_ : input_, output_, n, root, queue_);
    expect(0, n, root, 0);
    finish();
  }
  void all_gather(std::size_t n, bool in_place) {
    start("all_gather", n);
    int* input = in_place ? output_ + static_cast<std::size_t>(me_) * n : input_;
    fill(input, n, me_, 0);
    give();
    team_.all_gather(input, output_, n, queue_);
    for (std::size_t pe = 0; pe < n_pes_; ++pe) expect(pe * n, n, static_cast<int>(pe), 0);
    finish();
  }
  void all_to_all(std::size_t n) {
    start("all_to_all", n);
    for (std::size_t pe = 0; pe < n_pes_; ++pe) fill(input_ + pe * n, n, me_, static_cast<int>(pe));
    give();
    team_.all_to_all(input_, output_, n, queue_);
    for (std::size_t pe = 0; pe < n_pes_; ++pe) expect(pe * n, n, static_cast<int>(pe), me_);
    finish();
  }
  void reduce_scatter(std::size_t n, bool in_place) {
    start("reduce_scatter", n);
    int* output = in_place ? input_ + static_cast<std::size_t>(me_) * n : output_;
    for (std::size_t pe = 0; pe < n_pes_; ++pe) fill(input_ + pe * n, n, me_, static_cast<int>(pe));
    give();
    team_.reduce_scatter(input_, output, n, op::sum, queue_);
    expect_sum(n, me_, output);
    if (in_place) return;
    finish();
  }
  void all_reduce(std::size_t n, bool in_place) {
    start("all_reduce", n);
    int* input = in_place ? output_ : input_;
    fill(input, n, me_, 0);
    give();
    team_.all_reduce(input, output_, n, op::sum, queue_);
    expect_sum(n, 0, output_);
    finish();
  }
  void reduce(std::size_t n, int root, bool in_place) {
    start("reduce", n);
    const bool is_root = me_ == root;
    int* input = in_place && is_root ? output_ : input_;
    fill(input, n, me_, 0);
    give();
    team_.reduce(input, is_root ? output_ : nullptr, n, op::sum, root, queue_);
    if (is_root) expect_sum(n, 0, output_);
    finish();
  }
  void gather(std::size_t n, int root, bool in_place) {
    start("gather", n);
    const bool is_root = me_ == root;
    int* input = in_place && is_root ? output_ + static_cast<std::size_t>(root) * n : input_;
    fill(input, n, me_, root);
    give();
    team_.gather(input, is_root ? output_ : nullptr, n, root, queue_);
    for (std::size_t pe = 0; is_root && pe < n_pes_; ++pe)
      expect(pe * n, n, static_cast<int>(pe), root);
    finish();
  }
  void scatter(std::size_t n, int root, bool in_place) {
    start("scatter", n);
    const bool is_root = me_ == root;
    for (std::size_t pe = 0; is_root && pe < n_pes_; ++pe)
      fill(input_ + pe * n, n, root, static_cast<int>(pe));
    int* output = in_place && is_root ? input_ + static_cast<std::size_t>(root) * n : output_;
    give();
    team_.scatter(is_root ? input_ : nullptr, output, n, root, queue_);
    if (output == output_) expect(0, n, root, me_);
    finish();
  }
  void all_gather_v(const lengths& counts) {
    const auto places = places_of(counts);
    const auto n = counts[static_cast<std::size_t>(me_)];
    start("all_gather_v", n, capacity_);
    fill(input_, n, me_, 0);
    give();
    team_.all_gather_v(input_, output_, counts, places, queue_);
    for (std::size_t pe = 0; pe < n_pes_; ++pe)
      expect(places[pe], counts[pe], static_cast<int>(pe), 0);
    finish();
  }
  void reduce_scatter_v(const lengths& counts, bool in_place) {
    const auto places = places_of(counts);
    const auto n = counts[static_cast<std::size_t>(me_)];
    start("reduce_scatter_v", n, capacity_);
    for (std::size_t pe = 0; pe < n_pes_; ++pe)
      fill(input_ + places[pe], counts[pe], me_, static_cast<int>(pe));
    int* output = in_place ? input_ + places[static_cast<std::size_t>(me_)] : output_;
    give();
    team_.reduce_scatter_v(input_, output, counts, places, op::sum, queue_);
    expect_sum(n, me_, output);
    if (!in_place) finish();
  }
  /// By rows: what each PE sends to each.
  void all_to_all_v(const std::vector<lengths>& counts) {
    start("all_to_all_v", 0, capacity_);
    const auto& sent = counts[static_cast<std::size_t>(me_)];
    lengths received;
    for (const auto& row : counts) received.push_back(row[static_cast<std::size_t>(me_)]);
    const auto from = places_of(sent);
    const auto to = places_of(received);
    for (std::size_t pe = 0; pe < n_pes_; ++pe)
      fill(input_ + from[pe], sent[pe], me_, static_cast<int>(pe));
    give();
    team_.all_to_all_v(input_, sent, from, output_, received, to, queue_);
    for (std::size_t pe = 0; pe < n_pes_; ++pe)
      expect(to[pe], received[pe], static_cast<int>(pe), me_);
    finish();
  }

 private:
  static constexpr int poison = -77;

  /// What is looked at goes well past what may be written.
  void start(const char* what, std::size_t n) { start(what, n, n * n_pes_ + 1024); }
  void start(const char* what, std::size_t n, std::size_t looked_at) {
    ++call_;
    what_ = what;
    n_ = n;
    expected_.assign(std::min(looked_at, capacity_), poison);
    write(queue_, output_, expected_);
    given_.clear();
  }
  void fill(int* to, std::size_t n, int from, int target) {
    std::vector<int> values(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = value_of(call_, from, target, i);
    if (to < output_) {
      const auto at = static_cast<std::size_t>(to - input_);
      if (given_.size() < at + n) given_.resize(at + n, poison);
      std::copy(values.begin(), values.end(), given_.begin() + (to - input_));
      return;
    }
    write(queue_, to, values);
    // In place, what is there already stays.
    if (to < output_ + expected_.size())
      std::copy(values.begin(), values.end(), expected_.begin() + (to - output_));
  }
  void give() const {
    if (!given_.empty()) write(queue_, input_, given_);
  }
  void expect(std::size_t at, std::size_t n, int from, int to) {
    for (std::size_t i = 0; i < n; ++i) expected_[at + i] = value_of(call_, from, to, i);
  }
  /// Of what all PEs have sent to `to`, at `at`. It wraps.
  void expect_sum(std::size_t n, int to, const int* at) {
    std::vector<int> sum(n);
    for (std::size_t i = 0; i < n; ++i) {
      unsigned whole = 0;
      for (std::size_t pe = 0; pe < n_pes_; ++pe)
        whole += static_cast<unsigned>(value_of(call_, static_cast<int>(pe), to, i));
      sum[i] = static_cast<int>(whole);
    }
    if (at == output_)
      std::copy(sum.begin(), sum.end(), expected_.begin());
    else
      check(read(queue_, at, n) == sum, what_ + " in place of " + std::to_string(n));
  }
  /// The output is right, and the input, beside what is received in place, as it was.
  void finish() const {
    require_same(output_, expected_, "");
    if (!given_.empty()) require_same(input_, given_, " of the input");
  }
  void require_same(const int* at, const std::vector<int>& right, const char* of_what) const {
    const auto got = read(queue_, at, right.size());
    if (got == right) return;
    const auto [found, expected] = std::mismatch(got.begin(), got.end(), right.begin());
    check(false, what_ + " of " + std::to_string(n_) + " on PE " + std::to_string(me_) + " of " +
                     std::to_string(n_pes_) + ": element " + std::to_string(found - got.begin()) +
                     of_what + " is " + std::to_string(*found) + ", not " +
                     std::to_string(*expected) + ", call " + std::to_string(call_));
  }
  /// One behind the other, with gaps.
  static lengths places_of(const lengths& counts) {
    lengths places;
    std::size_t at = 0;
    for (const std::size_t n : counts) {
      places.push_back(at);
      at += n + 2;
    }
    return places;
  }

  const team& team_;
  int me_;
  std::size_t n_pes_;
  stream queue_;
  symmetric_array<int> heap_;
  device_array<int> own_;
  int* input_;
  int* output_;
  std::size_t capacity_;
  int call_ = 0;
  std::string what_;
  std::size_t n_ = 0;
  std::vector<int> expected_;
  std::vector<int> given_;  ///< the input, where that is apart from the output
};

inline void all_of_them(caller& pe, int n_pes, std::size_t n) {
  for (const bool in_place : {false, true}) {
    const int root = static_cast<int>(n % static_cast<std::size_t>(n_pes));
    pe.broadcast(n, root, in_place);
    pe.all_gather(n, in_place);
    pe.gather(n, n_pes - 1 - root, in_place);
    pe.scatter(n, root, in_place);
    pe.reduce_scatter(n, in_place);
    pe.reduce(n, root, in_place);
  }
  pe.all_to_all(n);
}

}  // namespace heddle::testing
