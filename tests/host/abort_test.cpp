// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <heddle/heddle.hpp>
#include <latch>
#include <stdexcept>

#include "doctest/run_pes.hpp"
#include "host/outcomes.hpp"

// A PE that aborts, or is ended by an exception, ends the others' waits with its reason.

namespace {

using heddle::runtime;
using heddle::testing::check_error;
using heddle::testing::of;
using heddle::testing::outcome;
using heddle::testing::run_pes;

}  // namespace

TEST_CASE("an aborted team is destroyed once, though it stays until all have left it") {
  run_pes(2, [](runtime& self) {
    const auto world = self.world();
    heddle_team_t both = nullptr;
    REQUIRE(heddle_team_split_strided(world.handle(), 0, 1, 2, &both) == HEDDLE_SUCCESS);
    world.barrier();
    if (self.my_pe() == 0) {
      CHECK(heddle_team_abort(both, "no ink") == HEDDLE_SUCCESS);
      CHECK(heddle_team_destroy(both) == HEDDLE_SUCCESS);
      check_error(of(heddle_team_destroy(both)), HEDDLE_ERROR_INVALID_USAGE,
                  {"heddle_team_destroy", "was destroyed"});
    }
    world.barrier();
    if (self.my_pe() == 1) CHECK(heddle_team_destroy(both) == HEDDLE_SUCCESS);
    world.barrier();
  });
}

TEST_CASE("a team aborted by a PE ends the others' waits with its reason; other teams go on") {
  run_pes(2, [](runtime& self) {
    const auto world = self.world();
    const auto both = world.split_strided(0, 1, 2);
    auto* flag = self.calloc<heddle::signal>(1);
    if (self.my_pe() == 0) {
      both.abort("the input file is broken");
    } else {
      check_error(of(heddle_signal_wait(both.handle(), flag, HEDDLE_CMP_EQ, 1)),
                  HEDDLE_ERROR_ABORTED, {"PE 0 aborted team", "the input file is broken"});
    }
    check_error(of(heddle_team_status(both.handle())), HEDDLE_ERROR_ABORTED,
                {"the input file is broken"});
    world.barrier();
    CHECK(heddle_team_status(world.handle()) == HEDDLE_SUCCESS);
  });
}

TEST_CASE("an exception on one PE ends the others' waits with its number" *
          doctest::test_suite("threads")) {
  const auto start = std::chrono::steady_clock::now();
  std::array<outcome, 3> got;
  CHECK_THROWS_WITH_AS(
      heddle::run_as_threads(3,
                             [&](runtime& self) {
                               float x = 1;
                               if (self.my_pe() == 1)
                                 throw std::runtime_error("PE 1 has had enough");
                               got[static_cast<std::size_t>(self.my_pe())] =
                                   of(heddle_all_reduce(self.world().handle(), &x, &x, 1,
                                                        HEDDLE_FLOAT32, HEDDLE_SUM, nullptr));
                             }),
      "PE 1 has had enough", std::runtime_error);
  for (int pe : {0, 2})
    check_error(got[static_cast<std::size_t>(pe)], HEDDLE_ERROR_PEER_LOST,
                {"PE 1 of team world", "is lost"});
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
}

TEST_CASE("an exception past symmetric objects, teams and registrations frees nothing alone" *
          doctest::test_suite("threads")) {
  const auto start = std::chrono::steady_clock::now();
  std::array<outcome, 3> got;
  std::latch all_have_numbers(3);
  CHECK_THROWS_WITH_AS(
      heddle::run_as_threads(3,
                             [&](runtime& self) {
                               const auto world = self.world();
                               const auto pair = world.split_strided(0, 1, 2);
                               const heddle::symmetric_array<float> numbers(self, 100);
                               // PE 1 may be out of the allocation's barrier before the others.
                               all_have_numbers.arrive_and_wait();
                               if (self.my_pe() == 1)
                                 throw std::runtime_error("PE 1 has had enough");
                               // Neither meets the barrier in which PE 1 would free its numbers.
                               const auto me = static_cast<std::size_t>(self.my_pe());
                               got[me] = of(self.my_pe() == 0
                                                ? heddle_barrier(world.handle())
                                                : heddle_all_reduce(world.handle(), &numbers[0],
                                                                    &numbers[0], 1, HEDDLE_FLOAT32,
                                                                    HEDDLE_SUM, nullptr));
                             }),
      "PE 1 has had enough", std::runtime_error);
  // That PE 1 has aborted comes by memory or the network; that it has ended, by the bootstrap,
  // which may be first where there is no memory between them.
  for (int pe : {0, 2}) {
    const auto& told = got[static_cast<std::size_t>(pe)];
    CAPTURE(told.text);
    if (told.status == HEDDLE_ERROR_PEER_LOST && std::getenv("HEDDLE_P2P_DISABLE"))
      check_error(told, HEDDLE_ERROR_PEER_LOST, {"PE 1 of team world", "is lost", "an exception"});
    else
      check_error(told, HEDDLE_ERROR_ABORTED, {"PE 1 aborted team world", "an exception"});
  }
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
}

TEST_CASE("abort ends the waits of its own streams") {
  const auto start = std::chrono::steady_clock::now();
  run_pes(2, [](runtime& self) {
    auto* flag = self.calloc<heddle::signal>(1);
    auto queue = self.create_stream();
    self.world().wait_until(flag, heddle::cmp::eq, 1, queue);
    // PE 0 may be through the barrier before PE 1 is.
    const auto meet = [&] { self.world().barrier(); };
    if (self.my_pe() == 0) {
      meet();
      self.abort("enough");
    } else {
      CHECK_THROWS_AS((meet(), queue.synchronize()), heddle::error);
    }
  });
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
}
