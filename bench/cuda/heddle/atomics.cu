// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// How fast the threads of PE 0 update words of PE 1: all of them one word, or each its own.
// A point's bytes are 8 for each thread: what one round of atomics updates.
#include <heddle/symmetric_array.hpp>

#include "../atomic_grid.hpp"
#include "gpu_pe.hpp"

namespace {

using bench::gpu_pe;
using heddle::team_ref;
using heddle::uint64_t;

/// n atomics of each thread. `stride` is 0 where all have one word.
struct adds {
  template <heddle::block_group Block>
  HEDDLE_FN void operator()(Block block, team_ref team, uint64_t* words, uint64_t*,
                            heddle::size_t stride, uint64_t n) const {
    const auto thread = static_cast<heddle::size_t>(block.block_rank() * block.size()) +
                        static_cast<heddle::size_t>(block.rank());
    for (uint64_t i = 0; i < n; ++i) team.atomic_add(words + thread * stride, uint64_t{1}, 1);
    team.quiet();
  }
};

/// The same, and what each finds is used.
struct fetch_adds {
  template <heddle::block_group Block>
  HEDDLE_FN void operator()(Block block, team_ref team, uint64_t* words, uint64_t* found,
                            heddle::size_t stride, uint64_t n) const {
    const auto thread = static_cast<heddle::size_t>(block.block_rank() * block.size()) +
                        static_cast<heddle::size_t>(block.rank());
    uint64_t last = 0;
    for (uint64_t i = 0; i < n; ++i)
      last = team.atomic_fetch_add(words + thread * stride, uint64_t{1}, 1);
    found[thread] = last;
  }
};

template <class Kernel>
void measure(gpu_pe& pe, const char* what, const char* variant, bool one_word, Kernel kernel) {
  const int blocks = bench::on_gpu() ? bench::atomic_blocks : 2;
  const int threads = bench::on_gpu() ? bench::atomic_threads : 4;
  const auto all = static_cast<std::size_t>(blocks) * static_cast<std::size_t>(threads);
  const heddle::symmetric_array<uint64_t> words(pe.runtime(), all);
  const heddle::symmetric_array<uint64_t> found(pe.runtime(), all);
  std::uint64_t rounds = 0;
  const double us = pe.time([&](std::uint64_t n) {
    rounds += n;
    if (pe.my_pe() == 0)
      heddle::launch(pe.stream(), blocks, threads, kernel, pe.world().ref(), words.data(),
                     found.data(), heddle::size_t{one_word ? 0u : 1u}, n);
  });
  if (pe.my_pe() == 1) {
    const std::uint64_t expected = one_word ? rounds * all : rounds;
    const auto counted = pe.read(words.data(), one_word ? 1 : all);
    for (const std::uint64_t count : counted)
      if (count != expected)
        throw std::runtime_error(std::string(what) + ", " + variant + ": a word is " +
                                 std::to_string(count) + ", not " + std::to_string(expected));
  }
  pe.report(what, variant, all * sizeof(uint64_t), us);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program("gpu_heddle_atomics", [&] {
    const auto options = bench::gpu_options::parse(argc, argv);
    if (options.pes != 2) throw std::invalid_argument("atomics are between 2 PEs");
    bench::run_gpu_pes(options, [](gpu_pe& pe) {
      for (const bool one_word : {true, false}) {
        const char* variant = one_word ? "one word" : "a word for each thread";
        measure(pe, "atomic_add", variant, one_word, adds{});
        measure(pe, "atomic_fetch_add", variant, one_word, fetch_adds{});
      }
    });
  });
}
