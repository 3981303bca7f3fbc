// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// put, get, signal and atomic between PE 0 and PE 1, from inside a kernel (one_sided_loops.cpp).

#include <fmt/format.h>

#include "one_sided_check.hpp"
#include "one_sided_loops.hpp"

namespace perf {

namespace {

/// A loop by PE 0 that moves from `src` to `dst`; the source is PE `from`'s, the destination PE
/// `to`'s.
void measure_transfer(const session& with, decltype(launch_puts)& launch, int from, int to) {
  require_two(with);
  bytes_array src(with.runtime, moving_source::bytes_for(with.chosen.max_bytes));
  bytes_array dst(with.runtime, with.chosen.max_bytes);
  const int me = with.world.my_pe();
  const auto team = with.world.ref();
  const moving_source source(from);
  for (const std::size_t bytes : with.chosen.sizes()) {
    with.out.progress(fmt::format("{} of {} bytes", with.chosen.what.name, bytes));
    if (me == from) fill_source(with, source, src, bytes);
    auto measured = start_row(with, bytes);
    measure_and_check(
        with, measured,
        [&](std::uint64_t made, int calls) {
          if (me == 0)
            launch(with.queue, with.block_threads, team,
                   {dst.data(), src.data(), bytes, made, calls});
        },
        [&] {
          if (me == to) clear(with, dst, bytes);
        },
        [&](std::uint64_t call) {
          return me == to ? count_wrong(with, source, dst, bytes, call) : 0;
        });
    measured.set_bandwidth();
    with.out.add({measured});
  }
}

}  // namespace

void measure_put(const session& with) { measure_transfer(with, launch_puts, 0, 1); }
void measure_get(const session& with) { measure_transfer(with, launch_gets, 1, 0); }

void measure_signal(const session& with) {
  require_two(with);
  bytes_array src(with.runtime, moving_source::bytes_for(with.chosen.max_bytes));
  bytes_array dst(with.runtime, with.chosen.max_bytes);
  heddle::symmetric_array<heddle::signal> word(with.runtime, 1);
  const int me = with.world.my_pe();
  const auto team = with.world.ref();
  const moving_source mine(me);
  const moving_source theirs(1 - me);
  std::uint64_t before = 0;
  std::uint64_t made_so_far = 0;
  for (const std::size_t bytes : with.chosen.sizes()) {
    with.out.progress(fmt::format("put_signal of {} bytes", bytes));
    fill_source(with, mine, src, bytes);
    auto measured = start_row(with, bytes);
    measure_and_check(
        with, measured,
        [&](std::uint64_t made, int calls) {
          if (me < 2)
            launch_ping_pong(with.queue, with.block_threads, team,
                             {dst.data(), src.data(), bytes, made, calls}, word.data(), before);
          made_so_far = made + static_cast<std::uint64_t>(calls);
        },
        [&] {
          before += made_so_far;
          made_so_far = 0;
          clear(with, dst, bytes);
        },
        [&](std::uint64_t call) {
          return me < 2 ? count_wrong(with, theirs, dst, bytes, call) : 0;
        });
    // An exchange is a put_signal in each direction: half of it is one way.
    measured.latency_us /= 2;
    measured.divide_times(2);
    measured.set_bandwidth();
    with.out.add({measured});
  }
  with.world.check_status();
}

namespace {

template <class Word>
void measure_fetch_add(const session& with, const char* type) {
  heddle::symmetric_array<Word> word(with.runtime, 1);
  const int me = with.world.my_pe();
  const auto team = with.world.ref();
  Word added = 0;
  const auto run = [&](int calls) {
    added += static_cast<Word>(calls);
    if (me == 0) launch_adds(with.queue, team, word.data(), calls);
  };
  auto measured = start_row(with, sizeof(Word));
  measured.count = 1;
  measured.type = type;
  measured.redop = "add";
  measured.latency_us = with.time_alone(
      sizeof(Word), [](int) {}, [&] { run(1); }, [](int) {});
  with.time_back_to_back(measured, run);
  measured.set_bandwidth();
  with.world.barrier();
  std::size_t wrong = 0;
  for (int checked = 0; checked < with.chosen.checks; ++checked) {
    if (checked > 0) {
      run(1);
      with.finish();
      with.world.barrier();
    }
    wrong += me == 1 && with.world.g(word.data(), me) != added ? 1 : 0;
    with.world.barrier();
  }
  if (with.chosen.checks > 0) measured.wrong = with.total(wrong);
  with.out.add({measured});
}

}  // namespace

void measure_atomic(const session& with) {
  require_two(with);
  measure_fetch_add<std::uint32_t>(with, "uint32");
  measure_fetch_add<std::uint64_t>(with, "uint64");
}

void measure_barrier(const session& with) {
  auto measured = start_row(with, 0);
  measured.type = "none";
  measured.latency_us = with.time_alone(
      0, [](int) {}, [&] { with.world.barrier(); }, [](int) {});
  with.time_back_to_back(measured, [&](int calls) {
    for (int i = 0; i < calls; ++i) with.world.barrier();
  });
  with.out.add({measured});
}

}  // namespace perf
