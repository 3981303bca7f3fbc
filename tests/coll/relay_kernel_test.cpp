// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <heddle/device/coll/all_gather_by_domains.hpp>
#include <heddle/device/coll/relay.hpp>
#include <random>
#include <thread>
#include <vector>

#include "coll/dealt_domains.hpp"
#include "coll/guarded_buffer.hpp"
#include "coll/relay_tree.hpp"
#include "device/local_team.hpp"
#include "doctest/cut_short.hpp"

using namespace heddle;
using namespace heddle::testing;

namespace {

struct relay_kernel {
  relay_args args;
  void operator()(host_block block) const { relay(block, args); }
};
struct gather_kernel {
  domains_gather_args args;
  void operator()(host_block block) const { all_gather_by_domains(block, args); }
};

/// Up to how many bytes an edge goes by words, by slots, and, of a broadcast, by packets.
struct ways {
  const char* name;
  std::size_t words;
  std::size_t slots;
  std::size_t packets = 0;
};
constexpr std::size_t always = ~std::size_t{0};
constexpr ways all_ways[] = {{"words", always, always},
                             {"slots", 0, always},
                             {"packets", 0, always, mailbox::simple_capacity},
                             {"direct", 0, 0}};
constexpr algorithm all_shapes[] = {algorithm::ring, algorithm::tree, algorithm::hierarchical};

struct call_shape {
  algorithm shape;
  ways by;
  memory where;
  int root;
  std::size_t bytes;
  int channels = 1;
  bool in_place = false;
  std::size_t chunk = 50'000;
};

void broadcast(const local_team& team, const team_domains& domains, int pe, unsigned call,
               const call_shape& how) {
  const bool symmetric = is_symmetric(how.where, pe, call);
  buffer input(team, pe, 0, how.bytes, symmetric);
  buffer output(team, pe, std::size_t{8} << 20, how.bytes, symmetric);
  const bool is_root = pe == how.root;
  buffer& source = how.in_place ? output : input;
  if (is_root) source.fill(call, pe);
  const auto place = relay_place_of(how.shape, domains, pe, how.root);
  relay_args args{.team = team.ref(pe),
                  .input = source.data(),
                  .output = output.data(),
                  .bytes = how.bytes,
                  .words_up_to = how.by.words,
                  .packets_up_to = how.by.packets,
                  .slots_up_to = how.by.slots,
                  .chunk = how.chunk,
                  .parent = place.parent,
                  .num_children = static_cast<int>(place.children.size())};
  std::copy(place.children.begin(), place.children.end(), args.children);
  team.launch(pe, how.channels, relay_kernel{args});
  if (args.team.aborted()) throw std::runtime_error("the team was aborted");
  if (!output.has(call, how.root, 0, how.bytes))
    throw std::runtime_error("call " + std::to_string(call) + " is wrong at PE " +
                             std::to_string(pe));
}

void all_gather(const local_team& team, const team_domains& domains, int pe, unsigned call,
                const call_shape& how) {
  const auto n_pes = static_cast<std::size_t>(team.n_pes());
  const bool symmetric = is_symmetric(how.where, pe, call);
  buffer input(team, pe, 0, how.bytes, symmetric);
  buffer output(team, pe, std::size_t{8} << 20, how.bytes * n_pes, symmetric);
  byte* own = output.data() + how.bytes * static_cast<std::size_t>(pe);
  input.fill(call, pe);
  if (how.in_place) std::memcpy(own, input.data(), how.bytes);
  domains_gather_args args{.how = {.team = team.ref(pe),
                                   .what = operation::all_gather,
                                   .input = how.in_place ? own : input.data(),
                                   .output = output.data(),
                                   .words_up_to = how.by.words,
                                   .slots_up_to = how.by.slots,
                                   .pull = call % 2 == 0},
                           .places = places_by(domains),
                           .bytes = how.bytes};
  team.launch(pe, how.channels, gather_kernel{args});
  if (args.how.team.aborted()) throw std::runtime_error("the team was aborted");
  for (std::size_t from = 0; from < n_pes; ++from)
    if (!output.has(call, static_cast<int>(from), how.bytes * from, how.bytes))
      throw std::runtime_error("call " + std::to_string(call) + ": PE " + std::to_string(pe) +
                               " has not what PE " + std::to_string(from) + " has sent");
}

}  // namespace

TEST_CASE("a broadcast down every tree, by every way, from any PE") {
  for (const int n_pes : is_cut_short() ? std::vector{3} : std::vector{1, 2, 3, 5, 8}) {
    const local_team team(n_pes, {.threads = block_threads()});
    for (const int each : {1, 2, n_pes}) {
      const auto domains = domains_of(n_pes, each, each == 2);
      unsigned first = 0;
      for (const auto shape : all_shapes)
        for (const auto& by : all_ways)
          for (const auto where : {memory::symmetric, memory::own, memory::mixed}) {
            CAPTURE(n_pes);
            CAPTURE(each);
            CAPTURE(by.name);
            CAPTURE(name_of(shape));
            CHECK_NOTHROW(team.run([&](int pe) {
              unsigned call = first;
              for (const std::size_t bytes : {1, 9, 2049, 70'001, 600'001}) {
                if (bytes > 100'000 && (is_cut_short() || by.words == always)) continue;
                ++call;
                broadcast(
                    team, domains, pe, call,
                    {shape, by, where, static_cast<int>(call) % n_pes, bytes, 1, call % 3 == 0});
              }
            }));
            first += 100;
          }
    }
  }
}

TEST_CASE("an AllGather host by host, of hosts of any size") {
  for (const auto& shape :
       {std::pair{2, 1}, {4, 2}, {3, 2}, {5, 4}, {6, 3}, {6, 2}, {8, 3}, {3, 3}}) {
    const int n_pes = shape.first;
    const int each = shape.second;
    if (is_cut_short() && n_pes > 4) continue;
    for (const bool in_turn : {false, true}) {
      const local_team team(n_pes, {.threads = block_threads()});
      const auto domains = domains_of(n_pes, each, in_turn);
      unsigned first = 0;
      for (const auto& by : all_ways)
        for (const auto where : {memory::symmetric, memory::own, memory::mixed}) {
          CAPTURE(n_pes);
          CAPTURE(each);
          CAPTURE(by.name);
          CHECK_NOTHROW(team.run([&](int pe) {
            unsigned call = first;
            for (const std::size_t bytes : {1, 9, 2049, 70'001}) {
              ++call;
              all_gather(team, domains, pe, call,
                         {algorithm::hierarchical, by, where, 0, bytes, 1, call % 3 == 0});
            }
          }));
          first += 100;
        }
    }
  }
}

TEST_CASE("broadcasts and AllGathers of many shapes follow each other") {
  constexpr int n_pes = 4;
  const local_team team(n_pes, {.threads = block_threads(), .flag_period = 7, .table = true});
  const auto domains = domains_of(n_pes, 2, true);
  CHECK_NOTHROW(team.run([&](int pe) {
    std::mt19937 random(3);  // the same on all PEs
    for (unsigned call = 0; call < (is_cut_short() ? 200 : 1500); ++call) {
      const auto shape = all_shapes[random() % 3];
      const ways& by = all_ways[random() % std::size(all_ways)];
      const auto where = static_cast<memory>(random() % 3);
      const std::size_t most = random() % 8 == 0 ? 70'000 : random() % 2 == 0 ? 3000 : 40;
      call_shape how{shape, by, where, static_cast<int>(random() % n_pes), 1 + random() % most};
      how.channels = random() % 4 == 0 ? 1 + static_cast<int>(random() % 4) : 1;
      how.in_place = random() % 4 == 0;
      how.chunk = 1 + random() % 20'000;
      if (random() % 3 == 0)
        all_gather(team, domains, pe, call, how);
      else
        broadcast(team, domains, pe, call, how);
    }
  }));
}

TEST_CASE("what has not come is not handed on") {
  for (const auto& by : {all_ways[0], all_ways[1], all_ways[2]}) {
    CAPTURE(by.name);
    const local_team team(4, {.threads = block_threads(), .timeout = 0.3});
    const auto domains = domains_of(4, 2, false);
    const auto gather = [&](int pe) {
      CHECK_THROWS(
          all_gather(team, domains, pe, 1, {algorithm::hierarchical, by, memory::own, 0, 100}));
    };
    // PE 2 is lost, which 0 finds out first.
    store(&team.ref(0).control(0)->abort_word, abort_code{abort_reason::peer_lost, 2, 0}.to_word(),
          release);
    team.run([&](int pe) {
      if (pe == 0) std::this_thread::sleep_for(std::chrono::milliseconds(100));  // 1 waits for it
      if (pe != 2) gather(pe);
      // It was not handed what 0 had in the place of 2's.
      if (pe == 1) CHECK(team.ref(1).aborted());
    });
  }
}

TEST_CASE("PEs whose broadcasts are of other sizes are told, where the bytes go directly") {
  const local_team team(2, {.threads = block_threads(), .timeout = 5});
  const auto domains = domains_of(2, 2, false);
  team.run([&](int pe) {
    CHECK_THROWS(broadcast(team, domains, pe, 1,
                           {algorithm::ring, all_ways[3], memory::symmetric, 0,
                            std::size_t{1000} + static_cast<std::size_t>(pe)}));
  });
  const auto code = abort_code::from_word(load(&team.ref(0).control(0)->abort_word, acquire));
  CHECK(code.reason == abort_reason::mismatch);
}

TEST_CASE("a PE that does not pass a broadcast on is named by those behind it") {
  for (const auto& by : all_ways) {
    CAPTURE(by.name);
    const local_team team(3, {.threads = block_threads(), .timeout = 0.3});
    const auto domains = domains_of(3, 3, false);
    team.run([&](int pe) {
      if (pe == 1) return;
      if (pe == 2) {
        CHECK_THROWS(
            broadcast(team, domains, pe, 1, {algorithm::ring, by, memory::symmetric, 0, 200'000}));
        return;
      }
      try {
        broadcast(team, domains, pe, 1, {algorithm::ring, by, memory::symmetric, 0, 200'000});
      } catch (const std::runtime_error&) {
        // By slots, it may not notice.
      }
    });
    const auto code = abort_code::from_word(load(&team.ref(0).control(0)->abort_word, acquire));
    CHECK(code.reason == abort_reason::timeout);
    CHECK(code.culprit == 1);
  }
}
