// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <optional>

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

  measured.latency_us = with.time_alone(
      measured.bytes, [&](int) { what.fill(++number); }, [&] { what.call(chosen.aggregated); },
      [&](int) {
        if (checks && timed_are_checked) wrong += what.count_wrong(number);
      });
  measured.latency_us /= chosen.aggregated;
  for (int more = timed_are_checked ? 1 : 0; more < chosen.checks; ++more) {
    what.fill(++number);
    what.call(checked);
    with.finish();
    wrong += what.count_wrong(number);
  }

  what.fill(++number);
  with.time_back_to_back(measured, [&](int iterations) {
    for (int i = 0; i < iterations; ++i) {
      ++number;
      if (with.on_host) what.renew(number);
      what.call(chosen.aggregated);
      if (!chosen.blocking) continue;
      with.finish();
      with.world.barrier();
    }
  });
  measured.divide_times(chosen.aggregated);
  if (!checks) return;
  if (!with.on_host || !timed_are_checked) {
    what.renew(++number);
    what.call(checked);
    with.finish();
  }
  measured.wrong = with.total(wrong + what.count_wrong_renewed(number) + behind->count_wrong());
}

}  // namespace perf
