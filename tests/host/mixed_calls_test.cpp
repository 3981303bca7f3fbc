// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <heddle/heddle.hpp>
#include <heddle/run_as_threads.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "doctest/cut_short.hpp"
#include "doctest/run_pes.hpp"
#include "host/outcomes.hpp"

// PEs that make different calls at once, and what is said of it.

using heddle::runtime;
using heddle::testing::check_error;
using heddle::testing::environment_variable;
using heddle::testing::of;
using heddle::testing::outcome;
using heddle::testing::patient;
using heddle::testing::run_pes;

namespace {

constexpr auto f32 = HEDDLE_FLOAT32;
constexpr auto mismatch = HEDDLE_ERROR_MISMATCH;

}  // namespace

TEST_CASE("different splits make no team on any PE, compared or not") {
  for (const char* compared : {"0", "1"}) {
    environment_variable check("HEDDLE_CHECK", compared);
    run_pes(3, [](runtime& self) {
      const auto world = self.world().handle();
      heddle_team_t made = nullptr;
      check_error(of(self.my_pe() == 2 ? heddle_team_split_color(world, 0, 0, &made)
                                       : heddle_team_split_strided(world, 0, 1, 3, &made)),
                  mismatch, {"PEs 2 and 0 have called different functions"});
      CHECK(made == nullptr);
      const auto pair = self.world().split_strided(0, 1, 2);  // nothing is lost
      CHECK(bool{pair} == (self.my_pe() < 2));
    });
  }
}

TEST_CASE("HEDDLE_CHECK=1 compares how a collective goes, and not what has no part in that") {
  environment_variable check("HEDDLE_CHECK", "1");
  run_pes(3, [](runtime& self) {
    const auto team = self.world().handle();
    const bool differs = self.my_pe() == 2;
    std::vector<std::uint16_t> data(64);
    const auto reduce = [&] {
      return of(heddle_all_reduce(team, data.data(), data.data(), data.size(), HEDDLE_FLOAT16,
                                  HEDDLE_SUM, nullptr));
    };
    const auto chooser = [](void* is_other, heddle_collective_t, std::size_t, int,
                            heddle_choice_t* choice) {
      choice->algorithm = is_other ? HEDDLE_ALGORITHM_RING : HEDDLE_ALGORITHM_TREE;
    };
    CHECK(heddle_team_set_max_channels(team, differs ? 64 : 0) == HEDDLE_SUCCESS);
    CHECK(reduce().status == HEDDLE_SUCCESS);
    CHECK(heddle_barrier(team) == HEDDLE_SUCCESS);
    CHECK(heddle_team_set_chooser(team, chooser, differs ? &data : nullptr) == HEDDLE_SUCCESS);
    check_error(reduce(), mismatch,
                {"PE 2 gave count 64, type float16, op sum, by ring ", "PE 0 gave", "by tree "});
    CHECK(heddle_team_set_chooser(team, chooser, &data) == HEDDLE_SUCCESS);
    CHECK(heddle_team_set_accumulate_f32(team, differs) == HEDDLE_SUCCESS);
    check_error(
        reduce(), mismatch,
        {"PE 2 gave count 64, type float16, op sum, by ring simple of 1 channels, in float32",
         "PE 0 gave count 64, type float16, op sum, by ring "});
    CHECK(heddle_team_set_accumulate_f32(team, 1) == HEDDLE_SUCCESS);
    CHECK(reduce().status == HEDDLE_SUCCESS);
    // Pieces of any size, too: their counts are compared by themselves.
    const auto by_channels = [](void* is_other, heddle_collective_t, std::size_t, int,
                                heddle_choice_t* choice) { choice->channels = is_other ? 1 : 2; };
    CHECK(heddle_team_set_chooser(team, by_channels, differs ? &data : nullptr) == HEDDLE_SUCCESS);
    const std::vector<std::size_t> counts(static_cast<std::size_t>(self.n_pes()), 4096);
    const std::vector<std::size_t> places = {0, 4096, 8192};
    std::vector<float> in(3 * 4096);
    std::vector<float> out(in.size());
    check_error(
        of(heddle_all_gather_v(team, in.data(), out.data(), counts.data(), places.data(), f32,
                               nullptr)),
        mismatch,
        {"heddle_all_gather_v", "PE 2 gave count 4096", " of 1 channels", " of 2 channels"});
    check_error(of(heddle_all_to_all_v(team, in.data(), counts.data(), places.data(), out.data(),
                                       counts.data(), places.data(), f32, nullptr)),
                mismatch, {"heddle_all_to_all_v", "PE 2 gave", " of 1 channels", " of 2 channels"});
  });
}

TEST_CASE("a chooser that throws on one PE keeps no other waiting where calls are compared") {
  environment_variable check("HEDDLE_CHECK", "1");
  run_pes(3, [](runtime& self) {
    const auto team = self.world().handle();
    const bool differs = self.my_pe() == 1;
    float data[12] = {};
    const auto chooser = [](void* is_other, heddle_collective_t, std::size_t, int,
                            heddle_choice_t*) {
      if (is_other) throw std::runtime_error("no idea");
    };
    CHECK(heddle_team_set_chooser(team, chooser, differs ? data : nullptr) == HEDDLE_SUCCESS);
    const auto check_both = [&](heddle_status_t status) {
      if (differs)
        check_error(of(status), HEDDLE_ERROR_INVALID_USAGE, {"the chooser of", "no idea"});
      else
        check_error(of(status), mismatch,
                    {"PE 1 gave count 4, type float32", "found no way for it"});
    };
    check_both(heddle_all_reduce(team, data, data, 4, f32, HEDDLE_SUM, nullptr));
    check_both(heddle_broadcast(team, data, data, 4, f32, 0, nullptr));
  });
}

TEST_CASE("a chooser that throws is named") {
  run_pes(2, [](runtime& self) {
    const auto team = self.world().handle();
    const auto chooser = [](void*, heddle_collective_t, std::size_t, int, heddle_choice_t*) {
      throw std::runtime_error("no idea");
    };
    float data[4] = {};
    CHECK(heddle_team_set_chooser(team, chooser, nullptr) == HEDDLE_SUCCESS);
    check_error(of(heddle_all_reduce(team, data, data, 4, f32, HEDDLE_SUM, nullptr)),
                HEDDLE_ERROR_INVALID_USAGE, {"the chooser of team world threw", "no idea"});
  });
}

TEST_CASE("a chooser is asked for powers of two") {
  run_pes(2, [](runtime& self) {
    const auto team = self.world().handle();
    const auto chooser = [](void* asked, heddle_collective_t, std::size_t bytes, int,
                            heddle_choice_t*) {
      static_cast<std::vector<std::size_t>*>(asked)->push_back(bytes);
    };
    std::vector<std::size_t> asked;
    CHECK(heddle_team_set_chooser(team, chooser, &asked) == HEDDLE_SUCCESS);
    std::vector<float> data(2 * 999);
    CHECK(heddle_all_reduce(team, data.data(), data.data(), 999, f32, HEDDLE_SUM, nullptr) ==
          HEDDLE_SUCCESS);
    int grid = 0;
    int block = 0;
    CHECK(heddle_launch_shape(team, 4 * 999, &grid, &block) == HEDDLE_SUCCESS);
    CHECK(heddle_launch_shape(team, ~std::size_t{0}, &grid, &block) == HEDDLE_SUCCESS);
    CHECK(self.world().plan(HEDDLE_COLLECTIVE_ALL_REDUCE, 0, HEDDLE_FLOAT32) != "");
    CHECK(self.world().plan(HEDDLE_COLLECTIVE_ALL_GATHER, 0, HEDDLE_FLOAT32) != "");
    CHECK(heddle_team_set_chooser(team, nullptr, nullptr) == HEDDLE_SUCCESS);
    CHECK(asked.size() >= 5);
    for (const auto bytes : asked) CHECK(std::has_single_bit(bytes));
  });
}

TEST_CASE("HEDDLE_CHECK=1 compares the end of a team, and barriers on streams") {
  environment_variable check("HEDDLE_CHECK", "1");
  run_pes(2, [](runtime& self) {
    const auto world = self.world().handle();
    heddle_team_t pair = nullptr;
    CHECK(heddle_team_split_strided(world, 0, 1, 2, &pair) == HEDDLE_SUCCESS);
    float data[4] = {};
    const bool differs = self.my_pe() == 1;
    const auto all_reduce = [&](heddle_team_t team) {
      return heddle_all_reduce(team, data, data, 4, f32, HEDDLE_SUM, nullptr);
    };
    check_error(of(differs ? all_reduce(pair) : heddle_team_destroy(pair)), mismatch,
                {"PEs 1 and 0 have called different functions"});
    check_error(of(differs ? heddle_barrier_on_stream(world, nullptr) : all_reduce(world)),
                mismatch, {"PEs 1 and 0 have called different functions"});
    CHECK(all_reduce(pair) == HEDDLE_SUCCESS);
    CHECK(heddle_barrier_on_stream(world, nullptr) == HEDDLE_SUCCESS);
    CHECK(heddle_team_destroy(pair) == HEDDLE_SUCCESS);
  });
}

TEST_CASE("heddle_topology is told from calls of the heap, compared or not") {
  const auto mixed = [](runtime& self) -> outcome {
    char* text = nullptr;
    void* memory = nullptr;
    return of(self.my_pe() == 1
                  ? heddle_topology(self.handle(), nullptr, HEDDLE_TOPOLOGY_TEXT, &text)
                  : heddle_malloc(self.handle(), 64, &memory));
  };
  run_pes(2, [&](runtime& self) { check_error(mixed(self), mismatch, {"is not of this call"}); });
  environment_variable check("HEDDLE_CHECK", "1");
  run_pes(2, [&](runtime& self) {
    check_error(mixed(self), mismatch, {"PE 1 made heddle_topology, PE 0 made heddle_malloc(64)"});
  });
}

TEST_CASE("an abort is told in the same words, however late it is asked for") {
  environment_variable timeout("HEDDLE_TIMEOUT", std::to_string(patient(0.3)));
  run_pes(2, [](runtime& self) {
    heddle_team_t pair = nullptr;
    REQUIRE(heddle_team_split_strided(self.world().handle(), 0, 1, 2, &pair) == HEDDLE_SUCCESS);
    if (self.my_pe() == 1) {
      while (heddle_team_status(pair) == HEDDLE_SUCCESS) std::this_thread::yield();
      heddle_team_destroy(pair);
      return;
    }
    const auto first = of(heddle_barrier(pair));
    CHECK(first.status == HEDDLE_ERROR_TIMEOUT);
    CHECK(of(heddle_team_status(pair)).text == first.text);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the other has left
    CHECK(of(heddle_team_status(pair)).text == first.text);
    heddle_team_destroy(pair);
  });
}

TEST_CASE("what the first PE threw is thrown again, and not what came of it") {
  environment_variable silence("HEDDLE_DEBUG", "NONE");
  for (const char* hosts : {"0", "2"}) {
    environment_variable imitated("HEDDLE_PES_PER_HOST", hosts);
    for (int round = 0; round < 20; ++round)
      CHECK_THROWS_WITH_AS(heddle::run_as_threads(4,
                                                  [](runtime& self) {
                                                    if (self.my_pe() == 3)
                                                      throw std::runtime_error("mine");
                                                    self.world().barrier();
                                                  }),
                           "mine", std::runtime_error);
  }
}
