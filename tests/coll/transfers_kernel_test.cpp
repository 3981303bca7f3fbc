// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <heddle/device/coll/exchange.hpp>
#include <heddle/device/coll/large_transfers.hpp>
#include <heddle/error.hpp>
#include <random>
#include <string>
#include <vector>

#include "coll/transfer_list.hpp"
#include "device/local_team.hpp"
#include "doctest/cut_short.hpp"

using namespace heddle;
using heddle::testing::block_threads;
using heddle::testing::is_cut_short;
using heddle::testing::local_team;
using heddle::testing::patient;

namespace {

constexpr std::size_t always = ~std::size_t{0};

template <class Args>
struct transfers_kernel {
  Args args;
  void operator()(host_block block) const { run_transfers(block, args, args.list); }
  void take(const transfer_list& list, int pe) {
    list.write_to(args.list, pe);
    args.n = static_cast<int>(list.size());
  }
};

struct ways {
  const char* name;
  std::size_t words, slots;
  bool pull = true;
  std::size_t streaming_from = always;
};
constexpr ways all_ways[] = {{"words", always, always},
                             {"slots", 0, always},
                             {"direct, by the receiver", 0, 0},
                             {"direct, by the sender", 0, 0, false},
                             {"direct, round the caches", 0, 0, true, 1},
                             {"by size", 100, 5000}};

struct message {
  int from, to;
  std::size_t bytes;
  bool private_source, private_target;
  std::size_t source, target;  ///< offsets in the users' memory, or the own one
};

byte byte_of(std::size_t number, std::size_t i) {
  return static_cast<byte>((i * 2654435761u + number * 40503u) >> 11);
}

/// Messages by chance, whose buffers do not overlap.
std::vector<message> messages_by_chance(int n_pes, std::size_t n, std::mt19937& random) {
  std::vector<message> all;
  std::vector<std::size_t> used(static_cast<std::size_t>(n_pes), 0);
  const auto place = [&](int pe, std::size_t bytes) {
    auto& end = used[static_cast<std::size_t>(pe)];
    const std::size_t at = end + random() % 3;
    end = at + bytes;
    return at;
  };
  for (std::size_t i = 0; i < n; ++i) {
    message next{};
    next.from = static_cast<int>(random() % static_cast<unsigned>(n_pes));
    next.to = static_cast<int>(random() % static_cast<unsigned>(n_pes));
    constexpr std::size_t most[] = {3, 9, 100, 3000, 20'000, 150'000};
    next.bytes = 1 + random() % most[random() % 6];
    next.private_source = random() % 3 == 0;
    next.private_target = random() % 3 == 0;
    next.source = place(next.from, next.bytes);
    next.target = place(next.to, next.bytes);
    all.push_back(next);
  }
  return all;
}

/// Every PE does its part of all messages, in their order, in groups that it cuts by chance: as
/// long as all keep to one order, any groups end.
void transfer_all(const local_team& team, const std::vector<message>& all, const ways& by,
                  int channels, unsigned seed) {
  team.run([&](int pe) {
    std::mt19937 random(seed + static_cast<unsigned>(pe));
    std::size_t end = 0;
    for (const message& each : all) {
      if (each.from == pe) end = std::max(end, each.source + each.bytes);
      if (each.to == pe) end = std::max(end, each.target + each.bytes);
    }
    std::vector<byte> own(end);
    const auto memory = [&](bool is_private, std::size_t at) {
      return is_private ? own.data() + at : team.user<byte>(pe, at);
    };
    for (std::size_t m = 0; m < all.size(); ++m) {
      if (all[m].from == pe)
        for (std::size_t i = 0; i < all[m].bytes; ++i)
          memory(all[m].private_source, all[m].source)[i] = byte_of(m, i);
      if (all[m].to == pe)
        for (std::size_t i = 0; i < all[m].bytes; ++i)
          memory(all[m].private_target, all[m].target)[i] = 0xee;
    }
    transfer_list group;
    const unsigned often = pe % 2 == 0 ? 3 : 400;
    const auto run = [&] {
      transfers_kernel<many_transfers_args> kernel{};
      kernel.args.team = team.ref(pe);
      kernel.args.words_up_to = by.words;
      kernel.args.slots_up_to = by.slots;
      kernel.args.pull = by.pull;
      kernel.args.streaming_from = by.streaming_from;
      kernel.take(group, pe);
      team.launch(pe, channels, kernel);
      group = {};
      if (team.ref(pe).aborted()) throw std::runtime_error("the team was aborted");
    };
    for (const auto& each : all) {
      if (each.from == pe)
        group.add(true, memory(each.private_source, each.source), each.bytes, each.to);
      if (each.to == pe)
        group.add(false, memory(each.private_target, each.target), each.bytes, each.from);
      if (group.size() + 2 > many_transfers_args::most || random() % often == 0) run();
    }
    run();
    for (std::size_t m = 0; m < all.size(); ++m) {
      if (all[m].to != pe) continue;
      const byte* target = memory(all[m].private_target, all[m].target);
      for (std::size_t i = 0; i < all[m].bytes; ++i)
        if (target[i] != byte_of(m, i))
          throw std::runtime_error("message " + std::to_string(m) + " from " +
                                   std::to_string(all[m].from) + ": byte " + std::to_string(i) +
                                   " of " + std::to_string(all[m].bytes) + " is wrong");
    }
  });
}

}  // namespace

TEST_CASE("messages by chance arrive whole and in order, in whatever groups each PE has them") {
  for (int n_pes : is_cut_short() ? std::vector<int>{2, 3} : std::vector<int>{1, 2, 3, 5, 8}) {
    const local_team team(n_pes, {.threads = block_threads()});
    for (const ways& by : all_ways)
      for (int channels : {1, 3}) {
        CAPTURE(n_pes);
        CAPTURE(by.name);
        CAPTURE(channels);
        const auto seed = static_cast<unsigned>(n_pes * 100 + channels);
        std::mt19937 random(seed);
        const auto all = messages_by_chance(n_pes, is_cut_short() ? 30 : 300, random);
        CHECK_NOTHROW(transfer_all(team, all, by, channels, seed));
      }
  }
}

TEST_CASE("a group goes on with whoever is there, though another waits for it elsewhere") {
  // PE 0 sends much to 1 and little to 2; 2 must have that before it sends to 1 what 1 waits for
  // before it receives.
  const local_team team(3, {.threads = block_threads()});
  for (const ways& by : all_ways) {
    CAPTURE(by.name);
    CHECK_NOTHROW(team.run([&](int pe) {
      auto* memory = team.user<byte>(pe);
      const auto call = [&](std::initializer_list<std::tuple<bool, std::size_t, int>> group) {
        transfer_list list;
        for (auto [is_send, bytes, other] : group)
          list.add(is_send, memory + (is_send ? 0 : 1'000'000), bytes, other);
        transfers_kernel<few_transfers_args> kernel{};
        kernel.args.team = team.ref(pe);
        kernel.args.words_up_to = by.words;
        kernel.args.slots_up_to = by.slots;
        kernel.args.pull = by.pull;
        kernel.take(list, pe);
        team.launch(pe, 1, kernel);
        if (team.ref(pe).aborted()) throw std::runtime_error("the team was aborted");
      };
      if (pe == 0) call({{true, 300'000, 1}, {true, 8, 2}});
      if (pe == 1) call({{false, 8, 2}}), call({{false, 300'000, 0}});
      if (pe == 2) call({{false, 8, 0}}), call({{true, 8, 1}});
    }));
  }
}

TEST_CASE("sends, receives and exchanges take turns in the same mailboxes") {
  const local_team team(2, {.threads = block_threads(), .flag_period = 7});
  CHECK_NOTHROW(team.run([&](int pe) {
    std::mt19937 random(11);
    auto* input = team.user<std::uint64_t>(pe);
    auto* output = team.user<std::uint64_t>(pe, 1 << 20);
    for (std::uint64_t call = 0; call < 1500; ++call) {
      const std::size_t count = 1 + random() % 600;
      const std::size_t words = random() % 2 == 0 ? always : 0;
      const std::size_t slots = random() % 2 == 0 ? always : words;
      const bool exchanges = random() % 3 == 0;
      const bool both = random() % 2 == 0;
      for (std::size_t i = 0; i < count; ++i)
        input[i] = call * 1000 + i * 2 + static_cast<std::size_t>(pe);
      if (exchanges) {
        exchange_args<equal_pieces> args{};
        args.team = team.ref(pe);
        args.what = operation::all_to_all;
        args.input = reinterpret_cast<byte*>(input);
        args.output = reinterpret_cast<byte*>(output);
        const int from = both ? exchange_args<equal_pieces>::everybody : 0;
        args.to = both || pe == 0 ? exchange_args<equal_pieces>::everybody
                                  : exchange_args<equal_pieces>::nobody;
        args.from = from;
        args.sends = {count * 8, 0};
        args.receives = {count * 8, 8192};
        args.words_up_to = words;
        args.slots_up_to = slots;
        team.launch(pe, 1, [args](host_block block) { exchange(block, args); });
        if (pe == 1 || both) {
          const auto other = static_cast<std::size_t>(both ? 1 - pe : 0);
          for (std::size_t i = 0; i < count; ++i)
            if (output[other * 1024 + i] != call * 1000 + i * 2 + other)
              throw std::runtime_error("call " + std::to_string(call) + " is wrong");
        }
      } else {
        transfer_list list;
        if (both || pe == 0) list.add(true, input, count * 8, 1 - pe);
        if (both || pe == 1) list.add(false, output, count * 8, 1 - pe);
        transfers_kernel<few_transfers_args> kernel{};
        kernel.args.team = team.ref(pe);
        kernel.args.words_up_to = words;
        kernel.args.slots_up_to = slots;
        kernel.take(list, pe);
        team.launch(pe, 1, kernel);
        if (both || pe == 1)
          for (std::size_t i = 0; i < count; ++i)
            if (output[i] != call * 1000 + i * 2 + static_cast<std::size_t>(1 - pe))
              throw std::runtime_error("call " + std::to_string(call) + " is wrong");
      }
      if (team.ref(pe).aborted()) throw std::runtime_error("the team was aborted");
    }
  }));
}

TEST_CASE("a send and a receive of different sizes that meet abort the team, and a lone one ends") {
  for (const bool alone : {false, true}) {
    const local_team team(2, {.threads = block_threads(), .timeout = patient(0.3)});
    CHECK_NOTHROW(team.run([&](int pe) {
      if (alone && pe == 1) return;
      transfer_list list;
      list.add(pe == 0, team.user<byte>(pe), pe == 0 ? 300 : 400, 1 - pe);
      transfers_kernel<few_transfers_args> kernel{};
      kernel.args.team = team.ref(pe);
      kernel.take(list, pe);
      team.launch(pe, 1, kernel);
      if (!team.ref(pe).aborted()) throw std::runtime_error("nothing was said");
    }));
    const auto* control = team.ref(0).control(0);
    CHECK(abort_code::from_word(control->abort_word).reason ==
          (alone ? abort_reason::timeout : abort_reason::mismatch));
  }
}

TEST_CASE("a sender of a large team brings nothing that was asked for before all gave up") {
  constexpr std::size_t bytes = 50'000;
  constexpr int receiver = 64;
  for (const bool aborted : {true, false}) {
    const local_team team(65, {.threads = block_threads(), .user_bytes = bytes});
    auto* target = team.user<byte>(receiver);
    team.run([&](int pe) {
      if (pe != 0) return;
      const team_ref self = team.ref(0);
      auto& pair = channel_scratch(self, 0, 1).pair_with(receiver);
      pair.target = {team.ref(receiver).symmetric_offset(target, bytes), bytes};
      pair.answer = 1;
      if (aborted) self.abort_at(0, abort_code{abort_reason::timeout, 0, receiver}.to_word());
      std::vector<byte> source(bytes, byte{7});
      transfer_list list;
      list.add(true, source.data(), bytes, receiver);
      transfers_kernel<few_transfers_args> kernel{};
      kernel.args.team = self;
      kernel.take(list, 0);
      team.launch(0, 1, [kernel](host_block block) {
        run_large_transfers(block, kernel.args, kernel.args.list);
      });
    });
    CHECK(std::count(target, target + bytes, byte{7}) == (aborted ? 0 : bytes));
  }
}

TEST_CASE("what a PE sends to itself it must receive in the same group, and a kernel has room") {
  few_transfers_args args;
  byte memory[16];
  transfer_list own;
  own.add(true, memory, 8, 3);
  CHECK_THROWS_AS(own.write_to(args.list, 3), const error&);
  own.add(false, memory + 8, 7, 3);
  CHECK_THROWS_AS(own.write_to(args.list, 3), const error&);
  transfer_list meeting;
  meeting.add(false, memory, 8, 1);
  meeting.add(true, memory + 8, 8, 2);
  meeting.add(true, memory + 10, 2, 2);
  CHECK_NOTHROW(meeting.write_to(args.list, 3));
  meeting.add(false, memory + 11, 1, 1);
  CHECK_THROWS_AS(meeting.write_to(args.list, 3), const error&);
  transfer_list many;
  for (int i = 0; i < few_transfers_args::most; ++i) many.add(true, memory, 8, i % 5);
  CHECK_NOTHROW(many.write_to(args.list, 7));
  // Lane by lane: those to PE 0, of which there are 26, then those to PE 1.
  CHECK(args.list[25].pe == 0);
  CHECK(args.list[26].pe == 1);
  many.add(true, memory, 8, 0);
  CHECK_THROWS_AS(many.write_to(args.list, 7), const error&);
}
