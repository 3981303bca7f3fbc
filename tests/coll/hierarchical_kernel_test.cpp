// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// AllReduce and its kin by memory within domains and along rails across them, of PEs that are
// threads: here memory joins the domains too, and the rails' links go by it.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "coll/dealt_domains.hpp"
#include "coll/reduction_runner.hpp"

using namespace heddle;
using namespace heddle::testing;

namespace {

constexpr plan hierarchical{.algo = algorithm::hierarchical, .proto = protocol::simple};

struct shape {
  int domains;
  int each;
  bool in_turn;  ///< how a launcher may deal the PEs to hosts
};

/// Rails of one-shot and of a ring, of two PEs and of more; PEs that divide by nothing.
std::vector<shape> shapes() {
  return fewer<shape>(
      {{2, 2, false}, {2, 2, true}, {3, 2, true}, {2, 3, false}, {4, 2, false}, {2, 4, true}},
      {{2, 2, true}, {3, 2, false}});
}

/// check(run) for every shape.
template <class Check>
void with_shapes(const Check& check, int channels = 1) {
  for (const shape& of : shapes()) {
    CAPTURE(of.domains);
    CAPTURE(of.each);
    CAPTURE(of.in_turn);
    const int n_pes = of.domains * of.each;
    const auto domains = domains_of(n_pes, of.each, of.in_turn);
    const local_team team(n_pes, {.threads = block_threads(), .ring = team_order(domains.pes)});
    runner run{.team = team, .chosen = hierarchical, .channels = channels, .domains = domains};
    check(run);
  }
}

}  // namespace

TEST_CASE("hierarchical: every type and reduction is exact in any number of domains of any size") {
  with_shapes([](runner& run) {
    for (heddle_op_t op : some_ops(run.domains.count)) {
      CAPTURE(op);
      CHECK_NOTHROW(run.all_types(op, 1, false));
      CHECK_NOTHROW(run.all_types(op, 1021, true));
      CHECK_NOTHROW(run.reduce_all_types(op, 1, true));
      CHECK_NOTHROW(run.reduce_all_types(op, 333, false));
    }
    CHECK_NOTHROW(run.all_doubled(333));
  });
}

TEST_CASE("hierarchical: one owner or all, by one-shot or a ring, in one piece or several") {
  // 8 KiB have one owner; a segment of more than one-shot's capacity goes along a ring.
  for (const int channels : fewer<int>({1, 5}, {2})) {
    CAPTURE(channels);
    with_shapes(
        [](runner& run) {
          for (std::size_t count : fewer<std::size_t>(
                   {0, 2, 3, 17, 2048, 2049, 4099, 70'001, 1'500'007}, {0, 3, 2049, 70'001})) {
            CAPTURE(count);
            for (buffers where : {buffers::symmetric, buffers::misaligned, buffers::private_memory,
                                  buffers::private_on_odd_pes})
              CHECK_NOTHROW(run.all_reduce<float>(HEDDLE_FLOAT32, HEDDLE_SUM, count,
                                                  where != buffers::misaligned, where));
            CHECK_NOTHROW(run.all_reduce<bf16>(HEDDLE_BFLOAT16, HEDDLE_AVG, count, false));
            if (count > 100'000) continue;
            for (buffers where : {buffers::symmetric, buffers::private_on_odd_pes})
              CHECK_NOTHROW(run.reduce_both<float>(HEDDLE_FLOAT32, HEDDLE_SUM, count,
                                                   where == buffers::symmetric, where));
          }
        },
        channels);
  }
}

TEST_CASE("hierarchical: as many channels as there are barriers for, in large domains") {
  if (is_cut_short()) return;  // 512 threads
  const auto domains = domains_of(32, 16, false);
  const local_team team(32, {.threads = 1});
  runner run{.team = team, .chosen = hierarchical, .channels = 16, .domains = domains};
  for (const std::size_t count : {17, 70'001}) {
    CAPTURE(count);
    for (int call = 0; call < 3; ++call)
      CHECK_NOTHROW(run.all_reduce<int32_t>(HEDDLE_INT32, HEDDLE_SUM, count, call == 0));
    CHECK_NOTHROW(run.reduce_both<int32_t>(HEDDLE_INT32, HEDDLE_SUM, count, false));
  }
}

TEST_CASE("hierarchical: nothing is staged where a domain's buffers are symmetric") {
  const auto domains = domains_of(4, 2, true);
  const auto is_touched = [&](buffers where, int pe) {
    const local_team team(4, {.threads = block_threads(), .ring = team_order(domains.pes)});
    runner run{.team = team, .chosen = hierarchical, .domains = domains};
    CHECK_NOTHROW(run.all_reduce<float>(HEDDLE_FLOAT32, HEDDLE_SUM, 70'001, false, where));
    const channel_scratch scratch(team.ref(pe), 0, 1);
    const auto has = [&](const byte* area) {
      return std::any_of(area, area + scratch.staging_capacity(), [](byte b) { return b != 0; });
    };
    return has(scratch.staging_in()) || has(scratch.staging_out());
  };
  CHECK(domains.pes == std::vector<std::int32_t>{0, 2, 1, 3});
  CHECK_FALSE(is_touched(buffers::symmetric, 0));
  CHECK_FALSE(is_touched(buffers::private_on_odd_pes, 0));  // the other domain is private
  CHECK(is_touched(buffers::private_on_odd_pes, 1));
}

namespace {

/// A sum that takes until the others have given up, on the PE that is late.
struct late_sum {
  const std::atomic<bool>* gave_up;
  template <class A>
  A combine(A a, A b) const {
    while (gave_up && !*gave_up) std::this_thread::yield();
    return a + b;
  }
  template <class A>
  A finish(A a) const {
    return a;
  }
};

}  // namespace

TEST_CASE("hierarchical: who is late in a call writes nothing where others have given up") {
  constexpr std::size_t count = 5'000;  // both of a domain own some; rails go by one-shot
  constexpr int late = 0;
  const auto domains = domains_of(4, 2, false);
  const local_team team(4, {.threads = block_threads(), .timeout = 0.2});
  std::atomic<bool> gave_up = false;
  team.run([&](int pe) {
    auto* output = team.user<int>(pe, std::size_t{24} << 20);
    std::fill(output, output + count, 77);
    auto args = args_of(hierarchical, team.ref(pe), HEDDLE_INT32, HEDDLE_SUM, team.user<int>(pe),
                        output, count);
    set_domains(args.topology, domains, domains.pes.data());
    const late_sum op{pe == late ? &gave_up : nullptr};
    team.launch(pe, 1,
                [args, op](host_block block) { all_reduce_hierarchical<int>(block, args, op); });
    CHECK(team.ref(pe).aborted());
    if (pe == 1) gave_up = true;
  });
  const auto* output = team.user<int>(1, std::size_t{24} << 20);
  // What PE 0 owns; PE 1 has its own part of the domain's sum in its output.
  CHECK(std::count(output, output + count / 2, 77) == count / 2);
}

TEST_CASE("hierarchical: other calls of the whole team before and after it meet their own words") {
  with_shapes([](runner& run) {
    for (const std::size_t count : {1, 1021, 70'001, 1, 3000}) {
      CAPTURE(count);
      run.chosen = hierarchical;
      CHECK_NOTHROW(run.all_reduce<int32_t>(HEDDLE_INT32, HEDDLE_SUM, count, false));
      run.chosen = {.algo = algorithm::one_shot, .proto = protocol::simple};
      CHECK_NOTHROW(run.all_reduce<int32_t>(HEDDLE_INT32, HEDDLE_MAX, 100, true));
      // Whose PEs tell each other, too, where their buffers are.
      run.chosen = {.algo = algorithm::two_shot, .proto = protocol::simple};
      for (const auto where : {buffers::symmetric, buffers::private_on_odd_pes})
        CHECK_NOTHROW(run.all_reduce<int32_t>(HEDDLE_INT32, HEDDLE_MIN, count, false, where));
      run.chosen = hierarchical;
      CHECK_NOTHROW(run.reduce_both<int32_t>(HEDDLE_INT32, HEDDLE_SUM, count, false));
      run.chosen = {.algo = algorithm::ring, .proto = protocol::simple};
      CHECK_NOTHROW(run.all_reduce<int32_t>(HEDDLE_INT32, HEDDLE_PROD, count, true));
    }
  });
}
