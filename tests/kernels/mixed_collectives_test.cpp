// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// Collectives of all kinds, ways and sizes in any order: each finds the team's memory as the one
// before has left it, and PEs that are ahead are in the next one already.

#include <doctest/doctest.h>

#include <chrono>
#include <heddle/device/coll/scratch.hpp>
#include <random>
#include <string>
#include <thread>

#include "kernels/collective_caller.hpp"
#include "kernels/forced_way.hpp"
#include "kernels/on_device.hpp"

using namespace heddle;
using namespace heddle::testing;

namespace {

/// By chance, and alike on all PEs but for `own`.
class call_by_chance {
 public:
  call_by_chance(const team& team, const placement& at, unsigned seed, std::size_t most)
      : team_(team),
        at_(at),
        most_(most),
        common_(seed),
        own_(seed + 1 + static_cast<unsigned>(team.my_pe())) {}

  void make(caller& symmetric, caller& own) {
    const auto what = static_cast<heddle_collective_t>(below(8));
    const std::size_t n = below(4) == 0 ? below(static_cast<unsigned>(most_)) : below(70);
    const int root = static_cast<int>(below(static_cast<unsigned>(team_.n_pes())));
    const forced here(team_, what, way_of(what), static_cast<int>(below(4)));
    const bool is_late = below(3) == 0 && static_cast<int>(below(4)) == team_.my_pe() % 4;
    if (is_late) std::this_thread::sleep_for(std::chrono::microseconds(own_() % 300));
    caller& by = own_() % 2 == 0 ? symmetric : own;
    by.count_from(++number_);
    carry_out(by, what, n, root, own_() % 3 == 0);
  }

 private:
  static void carry_out(caller& by, heddle_collective_t what, std::size_t n, int root,
                        bool in_place) {
    switch (what) {
      case HEDDLE_COLLECTIVE_ALL_REDUCE:
        return by.all_reduce(n, in_place);
      case HEDDLE_COLLECTIVE_BROADCAST:
        return by.broadcast(n, root, in_place);
      case HEDDLE_COLLECTIVE_ALL_GATHER:
        return by.all_gather(n, in_place);
      case HEDDLE_COLLECTIVE_ALL_TO_ALL:
        return by.all_to_all(n);
      case HEDDLE_COLLECTIVE_GATHER:
        return by.gather(n, root, in_place);
      case HEDDLE_COLLECTIVE_SCATTER:
        return by.scatter(n, root, in_place);
      case HEDDLE_COLLECTIVE_REDUCE_SCATTER:
        return by.reduce_scatter(n, in_place);
      default:
        return by.reduce(n, root, in_place);
    }
  }

  unsigned below(unsigned limit) { return static_cast<unsigned>(common_()) % limit; }

  /// Where there is no such way, another is taken.
  way way_of(heddle_collective_t what) {
    constexpr heddle_algorithm_t direct[] = {HEDDLE_ALGORITHM_ONE_SHOT, HEDDLE_ALGORITHM_TWO_SHOT,
                                             HEDDLE_ALGORITHM_MULTICAST, HEDDLE_ALGORITHM_DIRECT};
    constexpr heddle_algorithm_t linked[] = {HEDDLE_ALGORITHM_RING, HEDDLE_ALGORITHM_TREE,
                                             HEDDLE_ALGORITHM_HIERARCHICAL};
    way chosen = {HEDDLE_ALGORITHM_AUTO, HEDDLE_PROTOCOL_AUTO, ""};
    const unsigned algorithm = below(9), protocol = below(3);
    const bool has_direct = team_.n_pes() <= channel_scratch::max_direct_pes;
    if (algorithm < 4 && has_direct)
      chosen.algorithm = direct[algorithm];
    else if (algorithm < 7 && algorithm >= 4 && at_.has_links)
      chosen.algorithm = linked[algorithm - 4];
    const bool reduces = what == HEDDLE_COLLECTIVE_ALL_REDUCE ||
                         what == HEDDLE_COLLECTIVE_REDUCE_SCATTER ||
                         what == HEDDLE_COLLECTIVE_REDUCE;
    const bool has_words = chosen.algorithm == HEDDLE_ALGORITHM_ONE_SHOT ||
                           chosen.algorithm == HEDDLE_ALGORITHM_RING ||
                           chosen.algorithm == HEDDLE_ALGORITHM_TREE;
    if (has_words && (reduces || chosen.algorithm == HEDDLE_ALGORITHM_ONE_SHOT))
      chosen.protocol = static_cast<heddle_protocol_t>(protocol % (reduces ? 3 : 2));
    return chosen;
  }

  const team& team_;
  const placement& at_;
  std::size_t most_;
  std::mt19937 common_, own_;
  int number_ = 0;
};

void make_calls(const runtime& self, unsigned seed, std::size_t most, int calls) {
  const auto world = self.world();
  const auto at = find_placement(self, self.create_stream());
  caller symmetric(self, world, most, true);
  caller own(self, world, most, false);
  call_by_chance next(world, at, seed, most);
  for (int i = 0; i < calls; ++i) next.make(symmetric, own);
}

}  // namespace

TEST_CASE("collectives of all kinds and ways follow each other in any order") {
  for (const int n_pes : is_cut_short() ? pe_counts({4}) : pe_counts({2, 3, 4, 8}))
    for (unsigned seed = 1; seed < (is_cut_short() ? 2 : 5); ++seed) {
      CAPTURE(n_pes);
      CAPTURE(seed);
      run_pes(n_pes,
              [&](runtime& self) { make_calls(self, seed, 9001, is_cut_short() ? 60 : 250); });
    }
}

TEST_CASE("those of teams of more than 64 PEs do, too") {
  if (on_gpu()) return;  // not of so many PEs
  for (const char* on_a_host : {"0", "14"}) {
    // Where memory joins no two PEs, each is a host.
    if (is_asked_for("HEDDLE_P2P_DISABLE") && *on_a_host != '0') continue;
    const environment_variable hosts("HEDDLE_PES_PER_HOST", on_a_host);
    CAPTURE(on_a_host);
    run_many_pes(70, [&](runtime& self) { make_calls(self, 7, 100, is_cut_short() ? 40 : 200); });
  }
}
