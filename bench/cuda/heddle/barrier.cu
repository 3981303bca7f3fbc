// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// How long a barrier takes that kernels of all PEs meet in.
#include <heddle/symmetric_array.hpp>

#include "gpu_pe.hpp"

namespace {

using bench::gpu_pe;
using heddle::team_ref;
using heddle::uint64_t;

template <class By>
struct barriers {
  template <heddle::block_group Block>
  HEDDLE_FN void operator()(Block block, team_ref team, uint64_t n) const {
    if (!bench::in_first_group<By>(block)) return;
    for (uint64_t i = 0; i < n; ++i)
      if (team.barrier(By::of(block)) != heddle::wait_status::ok) return;
  }
};

/// In each round a PE writes to all, and finds after the barrier what all have written.
template <class By>
struct checked_barriers {
  template <heddle::block_group Block>
  HEDDLE_FN void operator()(Block block, team_ref team, uint64_t* words, uint64_t* wrong,
                            uint64_t first, uint64_t n) const {
    if (!bench::in_first_group<By>(block)) return;
    const auto group = By::of(block);
    for (uint64_t round = first; round < first + n; ++round) {
      for (int pe = group.rank(); pe < team.n_pes(); pe += group.size())
        team.p(words + team.my_pe(), round, pe);
      if (team.barrier(group) != heddle::wait_status::ok) return;
      for (int pe = group.rank(); pe < team.n_pes(); pe += group.size())
        if (team.g(words + pe, team.my_pe()) != round)
          team.atomic_add(wrong, uint64_t{1}, team.my_pe());
      if (team.barrier(group, 1) != heddle::wait_status::ok) return;
    }
  }
};

template <class By>
void measure(gpu_pe& pe, std::uint64_t first_round) {
  const heddle::symmetric_array<uint64_t> words(pe.runtime(), static_cast<std::size_t>(pe.n_pes()));
  const heddle::symmetric_array<uint64_t> wrong(pe.runtime(), 1);
  heddle::launch(pe.stream(), 1, By::threads(), checked_barriers<By>{}, pe.world().ref(),
                 words.data(), wrong.data(), first_round, uint64_t{50});
  const auto found = pe.read(wrong.data(), 1)[0];
  if (found != 0)
    throw std::runtime_error("barrier by a " + std::string(By::name) + ": " +
                             std::to_string(found) + " words were not there after it");
  const double us = pe.time([&](std::uint64_t n) {
    heddle::launch(pe.stream(), 1, By::threads(), barriers<By>{}, pe.world().ref(), n);
  });
  pe.report("barrier", By::name, 0, us);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program("gpu_heddle_barrier", [&] {
    const auto options = bench::gpu_options::parse(argc, argv);
    bench::run_gpu_pes(options, [](gpu_pe& pe) {
      measure<bench::by_thread>(pe, 1);
      measure<bench::by_warp>(pe, 101);
      measure<bench::by_block>(pe, 201);
    });
  });
}
