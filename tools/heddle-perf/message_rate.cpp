// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// How many small puts PE 0 makes in a second, from blocks with a queue to the proxy each.

#include "one_sided_check.hpp"
#include "one_sided_loops.hpp"

namespace perf {

namespace {

constexpr int most_in_batch = 64;
constexpr std::size_t most_batch_bytes = std::size_t{1} << 20;

int batch_of(std::size_t bytes) {
  return static_cast<int>(std::clamp<std::size_t>(most_batch_bytes / bytes, 1, most_in_batch));
}

std::vector<int> queue_counts(const session& with) {
  const int contexts = with.world.ref().n_contexts();
  if (with.chosen.queues > contexts && with.world.ref().has_network())
    throw usage_error(fmt::format(
        "--queues {}: each is a context of its own, of which there are {}; raise HEDDLE_CONTEXTS",
        with.chosen.queues, contexts));
  if (with.chosen.queues > 0) return {with.chosen.queues};
  std::vector<int> counts;
  for (int n = 1; n < contexts; n *= 2) counts.push_back(n);
  counts.push_back(contexts);
  return counts;
}

struct destination {
  heddle::symmetric_array<unsigned char> bytes;
  heddle::symmetric_array<heddle::signal> words;  ///< one for each block
};

/// What is not as `calls` calls have left it at PE 1.
std::size_t count_wrong_batches(const session& with, const moving_source& source,
                                const destination& to, std::size_t bytes, int blocks, bool signals,
                                std::uint64_t calls) {
  const auto size = static_cast<std::size_t>(batch_of(bytes));
  const auto n = static_cast<std::size_t>(blocks);
  std::size_t wrong = with.read(to.bytes.data(), n * size * bytes, [&](const unsigned char* from) {
    std::size_t found = 0;
    for (std::size_t block = 0; block < n; ++block)
      for (std::size_t i = 0; i < size; ++i)
        found += source.count_wrong(
            from + (block * size + i) * bytes, bytes,
            put_in_batch(calls - 1, static_cast<int>(block), static_cast<int>(i)));
    return found;
  });
  wrong += with.read(to.words.data(), n, [&](const heddle::signal* word) {
    const std::uint64_t told = signals ? calls * size : 0;
    return n - static_cast<std::size_t>(std::count(word, word + n, told));
  });
  return wrong;
}

void measure_rate(const session& with, const bytes_array& src, const destination& to,
                  std::size_t bytes, int blocks, bool signals) {
  with.out.progress(fmt::format("{} of {} bytes from {} blocks", signals ? "put_signals" : "puts",
                                bytes, blocks));
  const int me = with.world.my_pe();
  const auto team = with.world.ref();
  const moving_source source(0);
  const int size = batch_of(bytes);
  const auto places = static_cast<std::size_t>(blocks) * static_cast<std::size_t>(size);
  if (me == 0) fill_source(with, source, src, bytes);
  auto measured = start_row(with, bytes);
  measured.redop = signals ? "signal" : "put";
  measured.queues = blocks;
  measure_and_check(
      with, measured,
      [&](std::uint64_t made, int calls) {
        if (me == 0)
          launch_batches(with.queue, blocks, with.on_host ? 1 : 32, team,
                         {{to.bytes.data(), src.data(), bytes, made, calls},
                          size,
                          signals ? to.words.data() : nullptr});
      },
      [&] {
        if (me != 1) return;
        clear(with, to.bytes, places * bytes);
        with.write(to.words.data(), to.words.size(),
                   [&](heddle::signal* word) { std::fill_n(word, to.words.size(), 0); });
      },
      [&](std::uint64_t call) {
        return me == 1 ? count_wrong_batches(with, source, to, bytes, blocks, signals, call + 1)
                       : 0;
      });
  measured.divide_times(static_cast<double>(places));
  measured.rate = 1 / measured.time_us;
  measured.set_bandwidth();
  with.out.add({measured});
}

}  // namespace

void measure_rate(const session& with) {
  require_two(with);
  const auto counts = queue_counts(with);
  const auto most = static_cast<std::size_t>(counts.back());
  std::size_t batch_bytes = 0;
  for (const std::size_t bytes : with.chosen.sizes())
    batch_bytes = std::max(batch_bytes, bytes * static_cast<std::size_t>(batch_of(bytes)));
  const bytes_array src(with.runtime, moving_source::bytes_for(with.chosen.max_bytes));
  const destination to{bytes_array(with.runtime, most * batch_bytes),
                       heddle::symmetric_array<heddle::signal>(with.runtime, most)};
  for (const int blocks : counts)
    for (const std::size_t bytes : with.chosen.sizes())
      for (const bool signals : {false, true}) measure_rate(with, src, to, bytes, blocks, signals);
  with.world.check_status();
}

}  // namespace perf
