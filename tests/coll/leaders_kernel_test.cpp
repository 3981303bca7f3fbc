// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// AllGather and AllToAll of few bytes by the leaders of domains, of PEs that are threads: here
// memory joins the domains too.
#include <doctest/doctest.h>

#include <heddle/device/coll/exchange_by_leaders.hpp>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "coll/dealt_domains.hpp"
#include "coll/guarded_buffer.hpp"
#include "coll/reduction_runner.hpp"
#include "coll/relay_tree.hpp"

using namespace heddle;
using namespace heddle::testing;

namespace {

struct leaders_kernel {
  leaders_args args;
  void operator()(host_block block) const { exchange_by_leaders(block, args); }
};

struct call_shape {
  bool to_each;
  memory where;
  std::size_t bytes;
  bool in_place = false;  ///< of an AllGather
};

/// The call of one PE, checked. What it has for `to` is that of a piece of its own.
void exchange(const local_team& team, const team_domains& domains, int pe, unsigned call,
              const call_shape& how) {
  const int n_pes = team.n_pes();
  const auto piece = [&](int i) { return how.bytes * static_cast<std::size_t>(i); };
  const auto owner = [&](int from, int to) { return how.to_each ? from * n_pes + to : from; };
  const bool symmetric = is_symmetric(how.where, pe, call);
  buffer input(team, pe, 0, piece(how.to_each ? n_pes : 1), symmetric);
  buffer output(team, pe, std::size_t{8} << 20, piece(n_pes), symmetric);
  byte* source = how.in_place ? output.data() + piece(pe) : input.data();
  for (int to = 0; to < (how.to_each ? n_pes : 1); ++to)
    for (std::size_t i = 0; i < how.bytes; ++i)
      source[piece(to) + i] = byte_of(call, owner(pe, to), i);
  const leaders_args args{.team = team.ref(pe),
                          .what = operation::all_gather,
                          .input = source,
                          .output = output.data(),
                          .bytes = how.bytes,
                          .to_each = how.to_each,
                          .places = places_by(domains)};
  team.launch(pe, 1, leaders_kernel{args});
  if (args.team.aborted()) throw std::runtime_error("the team was aborted");
  for (int from = 0; from < n_pes; ++from)
    if (!output.has(call, owner(from, pe), piece(from), how.bytes))
      throw std::runtime_error("call " + std::to_string(call) + ": PE " + std::to_string(pe) +
                               " has not what PE " + std::to_string(from) + " has sent");
}

}  // namespace

TEST_CASE("by leaders, in domains of any sizes, dealt in any way") {
  for (const auto& shape :
       {std::pair{2, 1}, {4, 2}, {3, 2}, {5, 4}, {6, 3}, {6, 2}, {8, 3}, {8, 4}}) {
    const int n_pes = shape.first;
    const int each = shape.second;
    if (is_cut_short() && n_pes > 4) continue;
    for (const bool in_turn : {false, true}) {
      const local_team team(n_pes, {.threads = block_threads()});
      const auto domains = domains_of(n_pes, each, in_turn);
      CAPTURE(n_pes);
      CAPTURE(each);
      CAPTURE(in_turn);
      const auto in_a_round = [&](bool to_each) {
        return leaders_args::in_a_round(places_by(domains).sizes(), to_each);
      };
      CHECK_NOTHROW(team.run([&](int pe) {
        unsigned call = 0;
        for (const auto where : {memory::symmetric, memory::own, memory::mixed})
          for (const bool to_each : {false, true})
            // All rows of a domain in a message, two or three, and one; then rounds.
            for (const std::size_t bytes :
                 {std::size_t{1}, std::size_t{3}, std::size_t{8}, std::size_t{77},
                  in_a_round(to_each) / 3, in_a_round(to_each) / 2, in_a_round(to_each),
                  in_a_round(to_each) + 1, 3 * in_a_round(to_each)}) {
              exchange(team, domains, pe, ++call, {to_each, where, bytes});
              if (!to_each) exchange(team, domains, pe, ++call, {to_each, where, bytes, true});
            }
      }));
    }
  }
}

TEST_CASE("by leaders, a slot has room for what goes in a round, and rounds are even") {
  using args = leaders_args;
  constexpr auto slot = channel_scratch::one_shot_capacity;
  constexpr int most_here = barrier_memory::max_direct, most = channel_scratch::max_direct_pes;
  for (const bool to_each : {false, true}) {
    CAPTURE(to_each);
    for (const auto& none :
         {domain_sizes{4, 1, 4}, {2 * most_here, 2, most_here + 1}, {most + 1, most + 1, 1}})
      CHECK(args::rounds(none, to_each, 8).count == 0);
    for (const auto& team : {domain_sizes{4, 2, 2}, {5, 2, 4}, {6, 3, 2}, {64, 4, 16}, {64, 64, 1}})
      for (const std::size_t bytes : {1, 300, 8192, 8193, 16384, 16385, 100000}) {
        CAPTURE(team.n_pes);
        CAPTURE(bytes);
        const args::rounds rounds(team, to_each, bytes);
        const auto at_most = args::in_a_round(team, to_each);
        CHECK(rounds.count == (bytes + at_most - 1) / at_most);
        CHECK(rounds.bytes <= at_most);
        CHECK(rounds.bytes * rounds.count >= bytes);
        if (rounds.count > 1) CHECK(rounds.bytes < bytes / rounds.count + 17);
        const auto rows = static_cast<std::size_t>(args::rows_at_once(team, to_each, rounds.bytes));
        CHECK(rows >= 1);
        CHECK(rows * args::in_row(team, to_each) * rounds.bytes <= slot);
        if (to_each) CHECK(static_cast<std::size_t>(team.largest) * rounds.bytes <= slot);
      }
  }
  CHECK(args::rounds({4, 2, 2}, true, 8192).count == 1);
  CHECK(args::rounds({4, 2, 2}, true, 8208).bytes == 4112);
}

TEST_CASE("by leaders, beside reductions of the same slots, by all or by rails") {
  const auto domains = domains_of(4, 2, true);
  const local_team team(4, {.threads = block_threads(), .ring = team_order(domains.pes)});
  runner run{.team = team, .chosen = {}, .channels = 1, .domains = domains};
  std::mt19937 random(5);
  for (unsigned call = 0; call < (is_cut_short() ? 60 : 400); ++call) {
    CAPTURE(call);
    const std::size_t count = 1 + random() % (random() % 4 == 0 ? 9000 : 30);
    switch (random() % 3) {
      case 0:
        run.chosen = {.algo = algorithm::hierarchical, .proto = protocol::simple};
        CHECK_NOTHROW(run.all_reduce<float>(HEDDLE_FLOAT32, HEDDLE_SUM, count, call % 2 == 0));
        break;
      case 1:
        run.chosen = {.algo = algorithm::one_shot, .proto = protocol::simple};
        CHECK_NOTHROW(run.all_reduce<float>(HEDDLE_FLOAT32, HEDDLE_MAX, count, call % 2 == 0));
        break;
      default: {
        const call_shape how{random() % 2 == 0, memory::mixed,
                             1 + random() % (random() % 4 == 0 ? 9000 : 1000)};
        CHECK_NOTHROW(team.run([&](int pe) { exchange(team, domains, pe, call, how); }));
      }
    }
  }
}

TEST_CASE("by leaders, a PE that does not come is named on its host and on the others") {
  for (const int absent : {0, 1, 3}) {
    CAPTURE(absent);
    const local_team team(4, {.threads = block_threads(), .timeout = patient(0.3)});
    const auto domains = domains_of(4, 2, false);
    team.run([&](int pe) {
      if (pe != absent) CHECK_THROWS(exchange(team, domains, pe, 1, {false, memory::symmetric, 8}));
    });
    const auto code = abort_code::from_word(load(&team.ref(2).control(0)->abort_word, acquire));
    CHECK(code.reason == abort_reason::timeout);
    // Who waits for its leader may be the first to say so.
    const bool waits_for_leader = code.culprit == 0 || code.culprit == 2;
    CHECK((code.culprit == absent || waits_for_leader));
  }
}
