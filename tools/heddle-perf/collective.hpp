// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <optional>

#include "graph.hpp"
#include "guard.hpp"
#include "session.hpp"

namespace perf {

/// One PE's part of one collective of one size, type and placement.
template <class T>
concept collective = requires(const T& what, int number, int operations) {
  what.fill(number);      // all of the input, as it is in call `number`
  what.renew(number);     // the ends of each piece of it
  what.call(operations);  // so many operations, as one iteration
  // Of the output that call `number` has left.
  { what.count_wrong(number) } -> std::same_as<std::size_t>;
  { what.count_wrong_renewed(number) } -> std::same_as<std::size_t>;
  // A second operation finds the input of the first, not its result.
  { what.keeps_input() } -> std::same_as<bool>;
  // Behind what operations may write.
  { what.end() } -> std::same_as<unsigned char*>;
};

/// Work for the queue: by calls each time, or by a graph that has captured them.
template <class Calls>
class work {
 public:
  work(const session& with, Calls calls) : calls_(calls) {
    if (with.captures) graph_.emplace(*with.captures, calls_);
  }
  void operator()() const {
    if (graph_)
      graph_->launch();
    else
      calls_();
  }

 private:
  Calls calls_;
  std::optional<graph> graph_;
};

/// Measures it by itself and back to back, and checks what the options say. Back to back only the
/// ends of each piece change with each call: all of it would be a pass over memory of its own. Into
/// a GPU they take longer than a call, and change for one more call behind the timed ones. In place
/// the rest is the last result, and grows.
template <collective Collective>
void measure_collective(const session& with, const Collective& what, row& measured) {
  const auto& chosen = with.chosen;
  const bool checks = chosen.checks > 0;
  const int checked = what.keeps_input() ? chosen.aggregated : 1;
  const bool timed_are_checked = checked == chosen.aggregated;
  std::optional<guard> behind;
  if (checks) behind.emplace(with, what.end());
  int number = 0;
  std::size_t wrong = 0;
  if (with.captures) {  // A first call may do what cannot be captured.
    what.fill(++number);
    what.call(chosen.aggregated);
    with.finish();
  }
  const work iteration(with, [&] { what.call(chosen.aggregated); });
  const work checked_one(with, [&] { what.call(checked); });

  measured.latency_us = with.time_alone(
      measured.bytes, [&](int) { what.fill(++number); }, [&] { iteration(); },
      [&](int) {
        if (checks && timed_are_checked) wrong += what.count_wrong(number);
      });
  measured.latency_us /= chosen.aggregated;
  for (int more = timed_are_checked ? 1 : 0; more < chosen.checks; ++more) {
    what.fill(++number);
    checked_one();
    with.finish();
    wrong += what.count_wrong(number);
  }

  what.fill(++number);
  std::optional<graph> batch;
  if (with.captures)
    batch.emplace(*with.captures, [&] {
      for (int i = 0; i < chosen.iterations; ++i) what.call(chosen.aggregated);
    });
  with.time_back_to_back(measured, [&](int iterations) {
    for (int i = 0; batch && i < chosen.graph_replays; ++i) batch->launch();
    for (int i = 0; !batch && i < iterations; ++i) {
      ++number;
      if (with.on_host) what.renew(number);
      iteration();
      if (!chosen.blocking) continue;
      with.finish();
      with.world.barrier();
    }
  });
  measured.divide_times(chosen.aggregated * (batch ? chosen.graph_replays : 1.0));
  if (!checks) return;
  if (!with.on_host || !timed_are_checked) {
    what.renew(++number);
    checked_one();
    with.finish();
  }
  measured.wrong = with.total(wrong + what.count_wrong_renewed(number) + behind->count_wrong());
}

}  // namespace perf
