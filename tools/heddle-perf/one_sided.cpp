// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// put, get, signal and atomic between PE 0 and PE 1, from inside a kernel.

#include <fmt/format.h>

#include <heddle/device/launch.hpp>
#include <stdexcept>

#include "session.hpp"

namespace perf {

namespace {

struct put_loop {
  template <heddle::block_group Block>
  HEDDLE_FN void operator()(Block block, heddle::team_ref team, unsigned char* dst,
                            const unsigned char* src, size_t bytes, int calls) const {
    for (int i = 0; i < calls; ++i) {
      team.put(block, dst, src, bytes, 1);
      team.quiet();
    }
  }
};

struct get_loop {
  template <heddle::block_group Block>
  HEDDLE_FN void operator()(Block block, heddle::team_ref team, unsigned char* dst,
                            const unsigned char* src, size_t bytes, int calls) const {
    for (int i = 0; i < calls; ++i) team.get(block, dst, src, bytes, 1);
  }
};

/// PE 0 and PE 1 put and signal in turn; `done` exchanges were made before.
struct ping_pong {
  template <heddle::block_group Block>
  HEDDLE_FN void operator()(Block block, heddle::team_ref team, unsigned char* dst,
                            const unsigned char* src, size_t bytes, heddle::signal* word,
                            uint64_t done, int calls) const {
    const int other = 1 - team.my_pe();
    for (uint64_t i = done + 1; i <= done + static_cast<uint64_t>(calls); ++i) {
      if (team.my_pe() == 0)
        team.put_signal(block, dst, src, bytes, word, i, heddle::signal_op::set, other);
      if (team.wait_until(block, word, heddle::cmp::ge, i) != heddle::wait_status::ok) return;
      if (team.my_pe() == 1)
        team.put_signal(block, dst, src, bytes, word, i, heddle::signal_op::set, other);
    }
  }
};

struct add_loop {
  template <heddle::block_group Block, class Word>
  HEDDLE_FN void operator()(Block block, heddle::team_ref team, Word* word, int calls) const {
    if (block.rank() != 0) return;
    for (int i = 0; i < calls; ++i) team.atomic_fetch_add(word, Word{1}, 1);
  }
};

void require_two(const session& with) {
  if (with.world.n_pes() < 2)
    throw std::runtime_error(
        fmt::format("{} is measured between PE 0 and PE 1, and there is one PE; start two, as "
                    "heddle-run -n 2 heddle-perf {}",
                    with.chosen.operation, with.chosen.operation));
}

row start_row(const session& with, std::size_t bytes) {
  row measured;
  measured.collective = with.chosen.operation;
  measured.bytes = measured.count = bytes;
  measured.type = "byte";
  return measured;
}

void set_bandwidth(row& measured) {
  measured.algbw = measured.busbw = static_cast<double>(measured.bytes) / measured.time_us / 1e3;
}

unsigned char pattern(std::size_t i, std::size_t bytes) {
  return static_cast<unsigned char>(i * 131 + bytes);
}

std::size_t count_wrong(const unsigned char* data, std::size_t bytes) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < bytes; ++i) wrong += data[i] != pattern(i, bytes);
  return wrong;
}

/// A loop by PE 0 that moves from `src` to `dst`; the source is PE `from`'s, the destination PE
/// `to`'s.
template <class Loop>
void measure_transfer(const session& with, Loop loop, int from, int to) {
  require_two(with);
  heddle::symmetric_array<unsigned char> src(with.runtime, with.chosen.max_bytes);
  heddle::symmetric_array<unsigned char> dst(with.runtime, with.chosen.max_bytes);
  const int me = with.world.my_pe();
  const auto team = with.world.ref();
  for (const std::size_t bytes : with.chosen.sizes()) {
    with.out.progress(fmt::format("{} of {} bytes", with.chosen.operation, bytes));
    if (me == from)
      for (std::size_t i = 0; i < bytes; ++i) src[i] = pattern(i, bytes);
    const auto run = [&](int calls) {
      if (me == 0)
        heddle::launch(with.runtime.default_stream(), 1, 1, loop, team, dst.data(),
                       static_cast<const unsigned char*>(src.data()), bytes, calls);
    };
    auto measured = start_row(with, bytes);
    measured.latency_us = with.time_alone(
        bytes, [](int) {}, [&] { run(1); }, [](int) {});
    measured.time_us = with.time_back_to_back(run);
    set_bandwidth(measured);
    with.world.barrier();
    if (with.chosen.check)
      measured.wrong = with.total(me == to ? count_wrong(dst.data(), bytes) : 0);
    with.out.add({measured});
  }
}

}  // namespace

void measure_put(const session& with) { measure_transfer(with, put_loop{}, 0, 1); }
void measure_get(const session& with) { measure_transfer(with, get_loop{}, 1, 0); }

void measure_signal(const session& with) {
  require_two(with);
  heddle::symmetric_array<unsigned char> src(with.runtime, with.chosen.max_bytes);
  heddle::symmetric_array<unsigned char> dst(with.runtime, with.chosen.max_bytes);
  heddle::symmetric_array<heddle::signal> word(with.runtime, 1);
  const int me = with.world.my_pe();
  const auto team = with.world.ref();
  std::uint64_t done = 0;
  for (const std::size_t bytes : with.chosen.sizes()) {
    with.out.progress(fmt::format("put_signal of {} bytes", bytes));
    for (std::size_t i = 0; i < bytes; ++i) src[i] = pattern(i, bytes);
    const auto run = [&](int calls) {
      if (me < 2)
        heddle::launch(with.runtime.default_stream(), 1, 1, ping_pong{}, team, dst.data(),
                       static_cast<const unsigned char*>(src.data()), bytes, word.data(), done,
                       calls);
      done += static_cast<std::uint64_t>(calls);
    };
    // An exchange is a put_signal in each direction: half of it is one way.
    auto measured = start_row(with, bytes);
    measured.latency_us = with.time_alone(
                              bytes, [](int) {}, [&] { run(1); }, [](int) {}) /
                          2;
    measured.time_us = with.time_back_to_back(run) / 2;
    set_bandwidth(measured);
    if (with.chosen.check) measured.wrong = with.total(me < 2 ? count_wrong(dst.data(), bytes) : 0);
    with.world.barrier();
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
    if (me == 0)
      heddle::launch(with.runtime.default_stream(), 1, 1, add_loop{}, team, word.data(), calls);
  };
  auto measured = start_row(with, sizeof(Word));
  measured.count = 1;
  measured.type = type;
  measured.redop = "add";
  measured.latency_us = with.time_alone(
      sizeof(Word), [](int) {}, [&] { run(1); }, [](int) {});
  measured.time_us = with.time_back_to_back(run);
  set_bandwidth(measured);
  with.world.barrier();
  if (with.chosen.check) measured.wrong = with.total(me == 1 && word[0] != added ? 1 : 0);
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
  measured.time_us = with.time_back_to_back([&](int calls) {
    for (int i = 0; i < calls; ++i) with.world.barrier();
  });
  with.out.add({measured});
}

}  // namespace perf
