// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <heddle/heddle.hpp>
#include <heddle/symmetric_array.hpp>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "doctest/run_pes.hpp"
#include "host/outcomes.hpp"

// What a program is told of plans, and what it may choose itself.

using heddle::runtime;
using heddle::testing::check_error;
using heddle::testing::environment_variable;
using heddle::testing::of;
using heddle::testing::run_pes;

namespace {

constexpr auto invalid = HEDDLE_ERROR_INVALID_ARGUMENT;
constexpr auto f32 = HEDDLE_FLOAT32;

/// Takes a ring for AllReduce, whatever it is asked for, and slots for what combines nothing.
struct asked {
  std::multiset<std::pair<int, std::size_t>> calls;
  heddle_choice_t answer{HEDDLE_ALGORITHM_AUTO, HEDDLE_PROTOCOL_AUTO, 0, 0};
};
void choose(void* user, heddle_collective_t what, std::size_t bytes, int n_pes,
            heddle_choice_t* choice) {
  auto& self = *static_cast<asked*>(user);
  self.calls.insert({what, bytes});
  if (n_pes == 2) *choice = self.answer;
}

bool begins(const std::string& text, const std::string& with) { return text.rfind(with, 0) == 0; }

/// Whether memory joins the PEs, and not the network alone (HEDDLE_P2P_DISABLE).
bool are_mapped(const runtime& self) {
  const heddle::symmetric_array<int> word(self, 1);
  return self.ptr(word.data(), self.n_pes() - 1 - self.my_pe()) != nullptr;
}

}  // namespace

TEST_CASE("every collective tells its plan") {
  run_pes(2, [](runtime& self) {
    const auto world = self.world();
    const bool mapped = are_mapped(self);
    CHECK(begins(world.plan(HEDDLE_COLLECTIVE_ALL_REDUCE, 2, f32),
                 mapped ? "one_shot ll, 1 channel" : "one_shot simple, 1 channel"));
    CHECK(begins(world.plan(HEDDLE_COLLECTIVE_ALL_REDUCE, 1 << 20, f32),
                 mapped ? "two_shot simple" : "ring simple"));
    // Both PEs' pieces count.
    CHECK(begins(world.plan(HEDDLE_COLLECTIVE_REDUCE_SCATTER, 16, f32), "one_shot simple"));
    CHECK(begins(world.plan(HEDDLE_COLLECTIVE_REDUCE, 0, f32), "one_shot"));
    for (const auto what :
         {HEDDLE_COLLECTIVE_BROADCAST, HEDDLE_COLLECTIVE_ALL_GATHER, HEDDLE_COLLECTIVE_ALL_TO_ALL,
          HEDDLE_COLLECTIVE_GATHER, HEDDLE_COLLECTIVE_SCATTER, HEDDLE_COLLECTIVE_TRANSFER})
      CHECK(world.plan(what, 100, f32).find("then directly by the") != std::string::npos);
    // And what becomes of buffers that are not symmetric.
    const auto tells = [&](heddle_collective_t what, std::size_t count, const char* part) {
      return world.plan(what, count, f32).find(part) != std::string::npos;
    };
    CHECK(tells(HEDDLE_COLLECTIVE_ALL_REDUCE, 1 << 20,
                mapped ? "symmetric buffers in place, others staged"
                       : "inputs from where they lie, large symmetric outputs in place"));
    CHECK(tells(HEDDLE_COLLECTIVE_ALL_GATHER, 100, "bytes by the network") != mapped);
    CHECK(tells(HEDDLE_COLLECTIVE_ALL_REDUCE, 2, "buffers through slots"));
    CHECK(tells(HEDDLE_COLLECTIVE_ALL_GATHER, 100, "in place where buffers are symmetric"));
    char text[16];
    check_error(of(heddle_plan(world.handle(), static_cast<heddle_collective_t>(99), 1, f32, text,
                               sizeof text)),
                invalid, {"99 is not a heddle_collective_t"});
    check_error(of(heddle_plan(world.handle(), HEDDLE_COLLECTIVE_REDUCE, 1,
                               static_cast<heddle_type_t>(-3), text, sizeof text)),
                invalid, {"-3 is not a heddle_type_t"});
    check_error(of(heddle_plan(world.handle(), HEDDLE_COLLECTIVE_REDUCE, 1, f32, nullptr, 0)),
                invalid, {"text is NULL"});
    check_error(of(heddle_plan(nullptr, HEDDLE_COLLECTIVE_REDUCE, 1, f32, text, sizeof text)),
                invalid, {"team is NULL"});
  });
}

TEST_CASE("a chooser is asked once for each collective and power of two, and obeyed") {
  run_pes(2, [](runtime& self) {
    const auto world = self.world();
    asked mine;
    mine.answer.algorithm = HEDDLE_ALGORITHM_RING;
    world.set_chooser(choose, &mine);
    std::vector<float> input(1000, static_cast<float>(self.my_pe() + 1));
    std::vector<float> output(1000);
    for (const std::size_t n : {1000, 999, 600, 3, 1000}) {
      world.all_reduce(input.data(), output.data(), n, heddle::op::sum);
      CHECK(output == std::vector<float>(1000, 3.0f));
    }
    world.broadcast(input.data(), input.data(), 1000, 1);
    CHECK(input == std::vector<float>(1000, 2.0f));
    CHECK(mine.calls ==
          std::multiset<std::pair<int, std::size_t>>{{HEDDLE_COLLECTIVE_ALL_REDUCE, 16},
                                                     {HEDDLE_COLLECTIVE_ALL_REDUCE, 4096},
                                                     {HEDDLE_COLLECTIVE_BROADCAST, 4096}});
    const bool mapped = are_mapped(self);  // else there are no words that carry data and flag
    CHECK(begins(world.plan(HEDDLE_COLLECTIVE_ALL_REDUCE, 4, f32),
                 mapped ? "ring ll" : "ring simple"));
    mine.answer = {HEDDLE_ALGORITHM_TREE, HEDDLE_PROTOCOL_SIMPLE, 2, 1};
    world.set_chooser(choose, &mine);
    CHECK(begins(world.plan(HEDDLE_COLLECTIVE_ALL_REDUCE, 4, f32), "tree simple, 2 channels of 1"));
    world.all_reduce(input.data(), output.data(), 1000, heddle::op::sum);
    CHECK(output == std::vector<float>(1000, 4.0f));
    world.set_chooser(nullptr);
    CHECK(begins(world.plan(HEDDLE_COLLECTIVE_ALL_REDUCE, 4, f32),
                 mapped ? "one_shot ll" : "one_shot simple"));
  });
}

TEST_CASE("what a chooser cannot choose") {
  run_pes(2, [](runtime& self) {
    const auto world = self.world();
    asked mine;
    world.set_chooser(choose, &mine);
    float data[4] = {};
    const auto reduce = [&](heddle_choice_t answer) {
      mine.answer = answer;
      return of(heddle_all_reduce(world.handle(), data, data, 4, f32, HEDDLE_SUM, nullptr));
    };
    const auto any = HEDDLE_PROTOCOL_AUTO;
    check_error(reduce({static_cast<heddle_algorithm_t>(7), any, 0, 0}), invalid,
                {"chooser gave 7 as algorithm"});
    check_error(reduce({HEDDLE_ALGORITHM_AUTO, static_cast<heddle_protocol_t>(-2), 0, 0}), invalid,
                {"chooser gave -2 as protocol"});
    check_error(reduce({HEDDLE_ALGORITHM_AUTO, any, -1, 0}), invalid,
                {"chooser gave -1 as channels"});
    check_error(reduce({HEDDLE_ALGORITHM_TWO_SHOT, HEDDLE_PROTOCOL_LL, 0, 0}), invalid,
                {"two_shot", "ll", "simple alone"});
    mine.answer = {};
    world.set_chooser(nullptr);
    world.all_reduce(data, data, 4, heddle::op::sum);  // nothing was sent before
  });
}

TEST_CASE("a team's channels may be limited") {
  environment_variable channels("HEDDLE_CHANNELS", "6");
  run_pes(2, [](runtime& self) {
    const auto world = self.world();
    const auto has = [&](const char* what) {
      return world.plan(HEDDLE_COLLECTIVE_ALL_REDUCE, 1 << 16, f32).find(what) !=
                 std::string::npos &&
             world.plan(HEDDLE_COLLECTIVE_ALL_GATHER, 1 << 16, f32).find(what) != std::string::npos;
    };
    CHECK(has("6 channels"));
    world.set_max_channels(2);
    CHECK(has("2 channels"));
    std::vector<float> input(5000, 1.0f);
    std::vector<float> output(10'000);
    world.all_gather(input.data(), output.data(), 5000);
    CHECK(output == std::vector<float>(10'000, 1.0f));
    world.set_max_channels(0);
    CHECK(has("6 channels"));
    check_error(of(heddle_team_set_max_channels(world.handle(), -1)), invalid, {"-1 channels"});
    check_error(of(heddle_team_max_channels(world.handle(), nullptr)), invalid, {"channels"});
  });
}

TEST_CASE("each call may have its own limit of channels, and nothing is planned twice") {
  environment_variable channels("HEDDLE_CHANNELS", "6");
  run_pes(2, [](runtime& self) {
    const auto world = self.world();
    asked mine;
    world.set_chooser(choose, &mine);
    const std::vector<float> input(5000, 1.0f);
    std::vector<float> output(10'000);
    const auto call_all = [&] {
      world.all_reduce(input.data(), output.data(), 5000, heddle::op::sum);
      CHECK(output[4999] == 2.0f);
      world.all_gather(input.data(), output.data(), 5000);
      CHECK(output == std::vector<float>(10'000, 1.0f));
      heddle::grouped([&] {
        world.send(input.data(), 5000, 1 - self.my_pe());
        world.recv(output.data(), 5000, 1 - self.my_pe());
      });
    };
    call_all();
    CHECK(mine.calls.size() == 3);
    {
      const auto few = world.limit_channels(2);
      CHECK(world.max_channels() == 2);
      call_all();
      CHECK(mine.calls.size() == 6);
      {
        const auto fewer = world.limit_channels(1);
        call_all();
        CHECK(mine.calls.size() == 9);
      }
      CHECK(world.max_channels() == 2);
      call_all();
    }
    CHECK(world.max_channels() == 0);
    call_all();
    {
      const auto no_limit = world.limit_channels(1000);
      call_all();
    }
    CHECK(mine.calls.size() == 9);
    world.set_chooser(choose, &mine);  // forgets what was planned for any limit
    call_all();
    const auto few = world.limit_channels(2);
    call_all();
    CHECK(mine.calls.size() == 15);
    CHECK_THROWS_AS((void)world.limit_channels(-1), heddle::error);
    CHECK(world.max_channels() == 2);
    world.set_chooser(nullptr);
  });
}

TEST_CASE("small floats are rounded once where that is asked for") {
  environment_variable algorithm("HEDDLE_ALGO", "ring");
  for (const bool by_environment : {false, true}) {
    environment_variable asked("HEDDLE_ACCUMULATE_F32", by_environment ? "1" : "0");
    run_pes(4, [&](runtime& self) {
      const auto world = self.world();
      const auto plan_of = [&](heddle_type_t type) {
        return world.plan(HEDDLE_COLLECTIVE_ALL_REDUCE, 1000, type);
      };
      const auto sum = [&] {  // 2048 + 1 + 1 + 1, of which the neighbours are 2048 and 2050
        std::vector<heddle::f16> data(
            1000, heddle::from_float<heddle::f16>(self.my_pe() == 0 ? 2048.0f : 1.0f));
        world.all_reduce(data.data(), data.data(), data.size(), heddle::op::sum);
        return std::pair(heddle::to_float(data.front()), heddle::to_float(data.back()));
      };
      // Along the ring chunks begin at different PEs.
      if (!by_environment) {
        CHECK(plan_of(HEDDLE_FLOAT16).find("float32") == std::string::npos);
        CHECK(sum() != std::pair(2052.0f, 2052.0f));
        world.set_accumulate_f32(true);
      }
      CHECK(begins(plan_of(HEDDLE_FLOAT16), "ring simple"));
      CHECK(plan_of(HEDDLE_FLOAT16).find("as float32, rounded once") != std::string::npos);
      CHECK(plan_of(f32).find("float32") == std::string::npos);
      CHECK(sum() == std::pair(2052.0f, 2052.0f));
      world.set_accumulate_f32(false);
      CHECK(sum() != std::pair(2052.0f, 2052.0f));
    });
  }
  check_error(of(heddle_team_set_accumulate_f32(nullptr, 1)), invalid, {"team is NULL"});
}

TEST_CASE("a tree, which would round at every PE, is no way then") {
  environment_variable asked("HEDDLE_ACCUMULATE_F32", "1");
  environment_variable algorithm("HEDDLE_ALGO", "tree");
  environment_variable protocol("HEDDLE_PROTO", "ll");
  run_pes(2, [&](runtime& self) {
    const auto plan = self.world().plan(HEDDLE_COLLECTIVE_ALL_REDUCE, 1000, HEDDLE_BFLOAT16);
    CHECK(begins(plan, "ring simple"));
    CHECK(plan.find("HEDDLE_ALGO, but that is not here") != std::string::npos);
    CHECK(begins(self.world().plan(HEDDLE_COLLECTIVE_ALL_REDUCE, 1000, f32),
                 are_mapped(self) ? "tree ll" : "tree simple"));
  });
}
