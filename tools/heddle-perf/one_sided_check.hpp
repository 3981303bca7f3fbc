// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "moving_source.hpp"
#include "session.hpp"

/// What the measurements between PE 0 and PE 1 share: a row to start with, and bytes that are
/// looked at after they were moved.
namespace perf {

inline void require_two(const session& with) {
  if (with.world.n_pes() < 2)
    throw usage_error(
        fmt::format("{} is measured between PE 0 and PE 1, and there is one PE; start two, as "
                    "heddle-run -n 2 heddle-perf {}",
                    with.chosen.what.name, with.chosen.what.name));
}

inline row start_row(const session& with, std::size_t bytes) {
  row measured;
  measured.collective = with.chosen.what.name;
  measured.bytes = measured.count = bytes;
  measured.type = "byte";
  return measured;
}

/// Measures run(made, calls), which makes that many calls after `made` others, by themselves and
/// back to back. Before each of the two `clear()` empties the destinations; after it
/// count_wrong(call) says what the last call left there.
template <class Run, class Clear, class CountWrong>
void measure_and_check(const session& with, row& measured, Run run, Clear clear,
                       CountWrong count_wrong) {
  std::uint64_t made = 0;
  std::size_t wrong = 0;
  const auto run_on = [&](int calls) {
    run(made, calls);
    made += static_cast<std::uint64_t>(calls);
  };
  const auto start = [&] {
    clear();
    made = 0;
    with.world.barrier();
  };
  const auto finish = [&] {
    with.world.barrier();
    if (with.chosen.checks > 0) wrong += count_wrong(made - 1);
    with.world.barrier();
  };
  start();
  measured.latency_us = with.time_alone(
      measured.bytes, [](int) {}, [&] { run_on(1); }, [](int) {});
  finish();
  start();
  with.time_back_to_back(measured, run_on);
  finish();
  for (int more = 1; more < with.chosen.checks; ++more) {
    start();
    run_on(1);
    with.finish();
    finish();
  }
  if (with.chosen.checks > 0) measured.wrong = with.total(wrong);
}

using bytes_array = heddle::symmetric_array<unsigned char>;

inline void fill_source(const session& with, const moving_source& source, const bytes_array& src,
                        std::size_t bytes) {
  with.write(src.data(), moving_source::bytes_for(bytes),
             [&](unsigned char* to) { source.fill(to, bytes); });
}
inline void clear(const session& with, const bytes_array& dst, std::size_t bytes) {
  with.write(dst.data(), bytes,
             [&](unsigned char* to) { std::fill_n(to, bytes, static_cast<unsigned char>(0)); });
}
inline std::size_t count_wrong(const session& with, const moving_source& source,
                               const bytes_array& dst, std::size_t bytes, std::uint64_t call) {
  return with.read(dst.data(), bytes, [&](const unsigned char* from) {
    return source.count_wrong(from, bytes, call);
  });
}

}  // namespace perf
