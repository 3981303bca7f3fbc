// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/collective_rounds.hpp"

#include <doctest/doctest.h>

#include <chrono>

using namespace heddle;
using namespace std::chrono_literals;

TEST_CASE("what a part costs does not grow with the ranks") {
  constexpr int size = 65536;
  for (const int departed : {0, 1}) {
    CAPTURE(departed);
    collective_rounds rounds(size);
    const auto start = std::chrono::steady_clock::now();
    for (int rank = 0; rank < size; ++rank) {
      rounds.add(0, rank, collective_call::barrier, {});
      if (rank < departed) rounds.leave(rank);
    }
    CHECK(std::chrono::steady_clock::now() - start < 1s);
    REQUIRE(rounds.result(0) != nullptr);
    CHECK(rounds.result(0)->status == HEDDLE_SUCCESS);
  }
}

TEST_CASE("a round that lacks the part of a rank that left is an error, whichever comes first") {
  collective_rounds rounds(4);
  rounds.add(0, 0, collective_call::barrier, {});
  rounds.add(0, 2, collective_call::barrier, {});
  rounds.leave(2);
  CHECK(rounds.result(0) == nullptr);
  rounds.leave(1);
  rounds.add(1, 0, collective_call::barrier, {});
  for (const std::uint64_t number : {0, 1}) {
    CAPTURE(number);
    REQUIRE(rounds.result(number) != nullptr);
    CHECK(rounds.result(number)->status == HEDDLE_ERROR_INVALID_USAGE);
    CHECK(rounds.result(number)->problem.find("rank 1 of 4 left") != std::string::npos);
  }
  CHECK(rounds.take_decided() == std::vector<std::uint64_t>{0, 1});
}
