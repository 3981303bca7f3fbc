// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstdint>
#include <heddle/heddle.hpp>
#include <heddle/reduce_by.hpp>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "doctest/cut_short.hpp"
#include "doctest/run_pes.hpp"
#include "host/outcomes.hpp"

// Every mistake in a collective is an error that says what was asked, what
// was found and what to do.

using heddle::runtime;
using heddle::testing::check_error;
using heddle::testing::environment_variable;
using heddle::testing::of;
using heddle::testing::patient;
using heddle::testing::run_pes;

namespace {

constexpr auto invalid = HEDDLE_ERROR_INVALID_ARGUMENT;
constexpr auto f32 = HEDDLE_FLOAT32;

struct adding {
  template <class T>
  HEDDLE_FN T combine(T a, T b) const {
    return a + b;
  }
};

struct perhaps_adding {
  bool fails;
  HEDDLE_FN long combine(long a, long b) const {
    if (fails) throw std::runtime_error("no ink");
    return a + b;
  }
};

}  // namespace

TEST_CASE("a team that is NULL") {
  check_error(of(heddle_broadcast(nullptr, nullptr, nullptr, 0, f32, 0, nullptr)), invalid,
              {"heddle_broadcast", "team is NULL"});
  check_error(of(heddle_all_to_all_v(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                                     f32, nullptr)),
              invalid, {"heddle_all_to_all_v", "team is NULL"});
}

TEST_CASE("arguments are checked before anything is sent") {
  run_pes(2, [](runtime& self) {
    const auto team = self.world().handle();
    float data[16] = {};
    float other[16] = {};
    const auto type = static_cast<heddle_type_t>(99);
    check_error(of(heddle_all_gather(team, data, other, 4, type, nullptr)), invalid,
                {"heddle_all_gather", "99 is not a heddle_type_t"});
    check_error(of(heddle_broadcast(team, data, data, 4, f32, 2, nullptr)), invalid,
                {"heddle_broadcast", "root 2", "2 PEs", "world"});
    check_error(of(heddle_gather(team, data, other, 4, f32, -1, nullptr)), invalid, {"root -1"});
    check_error(of(heddle_scatter(team, data, other, 4, f32, 7, nullptr)), invalid, {"root 7"});
    check_error(of(heddle_all_gather(team, nullptr, other, 4, f32, nullptr)), invalid,
                {"input is NULL", "16 bytes"});
    check_error(of(heddle_all_gather(team, data, nullptr, 4, f32, nullptr)), invalid,
                {"output is NULL", "32 bytes"});
    check_error(of(heddle_all_gather(team, data, other, SIZE_MAX / 4, f32, nullptr)), invalid,
                {"more than an address can reach"});
    check_error(of(heddle_all_to_all(team, data, other, (std::size_t{1} << 45) - 1, f32, nullptr)),
                invalid, {"for each of 2 PEs", "more than an address can reach"});
    CHECK(heddle_all_gather(team, nullptr, nullptr, 0, f32, nullptr) == HEDDLE_SUCCESS);
    const auto sum = HEDDLE_SUM;
    check_error(of(heddle_reduce(team, data, other, 4, f32, sum, 2, nullptr)), invalid,
                {"heddle_reduce", "root 2", "2 PEs"});
    check_error(
        of(heddle_reduce(team, data, other, 4, f32, static_cast<heddle_op_t>(9), 0, nullptr)),
        invalid, {"9 is not a heddle_op_t"});
    check_error(of(heddle_reduce_scatter(team, data, nullptr, 4, f32, sum, nullptr)), invalid,
                {"heddle_reduce_scatter", "output is NULL"});
    check_error(of(heddle_reduce_scatter(team, data, reinterpret_cast<char*>(other) + 1, 4, f32,
                                         sum, nullptr)),
                invalid, {"aligned to the element's 4 bytes"});
    check_error(
        of(heddle_reduce_scatter(team, data, other, (std::size_t{1} << 45) - 1, f32, sum, nullptr)),
        invalid, {"for each of 2 PEs"});
    self.world().barrier();
  });
}

TEST_CASE("no memory for elements that there are, in any call") {
  run_pes(2, [](runtime& self) {
    const auto team = self.world().handle();
    const int me = self.my_pe();
    float data[16] = {};
    constexpr auto sum = HEDDLE_SUM;
    const std::size_t counts[] = {2, 2};
    const std::size_t places[] = {0, 8};
    const auto is_null = [](heddle_status_t status, const char* function, const char* which) {
      check_error(of(status), invalid, {function, which});
    };
    is_null(heddle_all_reduce(team, nullptr, data, 4, f32, sum, nullptr), "heddle_all_reduce",
            "input is NULL");
    is_null(heddle_all_reduce(team, data, nullptr, 4, f32, sum, nullptr), "heddle_all_reduce",
            "output is NULL");
    is_null(heddle_reduce(team, nullptr, data, 4, f32, sum, 0, nullptr), "heddle_reduce",
            "input is NULL");
    is_null(heddle_reduce(team, data, nullptr, 4, f32, sum, me, nullptr), "heddle_reduce",
            "output is NULL");
    is_null(heddle_reduce_scatter(team, nullptr, data, 4, f32, sum, nullptr),
            "heddle_reduce_scatter", "input is NULL");
    is_null(heddle_broadcast(team, nullptr, data, 4, f32, me, nullptr), "heddle_broadcast",
            "input is NULL");
    is_null(heddle_broadcast(team, data, nullptr, 4, f32, 1 - me, nullptr), "heddle_broadcast",
            "output is NULL");
    is_null(heddle_all_to_all(team, nullptr, data, 4, f32, nullptr), "heddle_all_to_all",
            "input is NULL");
    is_null(heddle_all_to_all(team, data, nullptr, 4, f32, nullptr), "heddle_all_to_all",
            "output is NULL");
    is_null(heddle_gather(team, nullptr, data, 4, f32, 0, nullptr), "heddle_gather",
            "input is NULL");
    is_null(heddle_gather(team, data, nullptr, 4, f32, me, nullptr), "heddle_gather",
            "output is NULL");
    is_null(heddle_scatter(team, nullptr, data, 4, f32, me, nullptr), "heddle_scatter",
            "input is NULL");
    is_null(heddle_scatter(team, data, nullptr, 4, f32, 0, nullptr), "heddle_scatter",
            "output is NULL");
    is_null(heddle_all_gather_v(team, nullptr, data, counts, places, f32, nullptr),
            "heddle_all_gather_v", "input is NULL");
    is_null(heddle_all_gather_v(team, data, nullptr, counts, places, f32, nullptr),
            "heddle_all_gather_v", "output is NULL");
    is_null(heddle_reduce_scatter_v(team, nullptr, data, counts, places, f32, sum, nullptr),
            "heddle_reduce_scatter_v", "input is NULL");
    is_null(heddle_all_to_all_v(team, nullptr, counts, places, data, counts, places, f32, nullptr),
            "heddle_all_to_all_v", "input is NULL");
    is_null(heddle_all_to_all_v(team, data, counts, places, nullptr, counts, places, f32, nullptr),
            "heddle_all_to_all_v", "output is NULL");
    self.world().barrier();
  });
}

TEST_CASE("buffers that overlap, but as the call allows") {
  run_pes(2, [](runtime& self) {
    const auto team = self.world().handle();
    const int me = self.my_pe();
    float data[16] = {};
    check_error(of(heddle_all_to_all(team, data, data, 4, f32, nullptr)), invalid,
                {"heddle_all_to_all", "overlap", "apart"});
    check_error(of(heddle_all_gather(team, data + 4 * (1 - me), data, 4, f32, nullptr)), invalid,
                {"overlap", "in place", me == 0 ? "0 bytes into" : "16 bytes into"});
    if (me == 0)
      check_error(of(heddle_broadcast(team, data, data + 1, 4, f32, 0, nullptr)), invalid,
                  {"overlap"});
    check_error(
        of(heddle_reduce_scatter(team, data, data + 4 * (1 - me), 4, f32, HEDDLE_SUM, nullptr)),
        invalid, {"overlap", "in place"});
    check_error(of(heddle_all_reduce(team, data, data + 1, 4, f32, HEDDLE_SUM, nullptr)), invalid,
                {"heddle_all_reduce", "overlap"});
    // Of the root: the others have one buffer.
    check_error(of(heddle_reduce(team, data, data + 1, 4, f32, HEDDLE_SUM, me, nullptr)), invalid,
                {"heddle_reduce", "overlap"});
    check_error(of(heddle_gather(team, data + 4 * (1 - me), data, 4, f32, me, nullptr)), invalid,
                {"heddle_gather", "overlap"});
    check_error(of(heddle_scatter(team, data, data + 4 * (1 - me), 4, f32, me, nullptr)), invalid,
                {"heddle_scatter", "overlap"});
    const std::size_t counts[] = {2, 2};
    const std::size_t places[] = {0, 4};
    check_error(
        of(heddle_all_gather_v(team, data + 4 * (1 - me), data, counts, places, f32, nullptr)),
        invalid, {"heddle_all_gather_v", "overlap"});
    check_error(
        of(heddle_all_to_all_v(team, data, counts, places, data, counts, places, f32, nullptr)),
        invalid, {"heddle_all_to_all_v", "overlap"});
    self.world().reduce_scatter(data, data + 4 * me, 4, heddle::op::sum);
    self.world().all_gather(data + 4 * me, data, 4);
    self.world().broadcast(data, data, 4, 1);
    self.world().barrier();
  });
}

TEST_CASE("lists of counts and displacements") {
  run_pes(2, [](runtime& self) {
    const auto team = self.world().handle();
    float data[16] = {};
    float other[16] = {};
    const std::size_t counts[] = {2, 3};
    const std::size_t apart[] = {0, 4};
    const std::size_t meeting[] = {2, 0};
    const std::size_t far[] = {0, SIZE_MAX / 2};
    check_error(of(heddle_all_gather_v(team, data, other, nullptr, apart, f32, nullptr)), invalid,
                {"heddle_all_gather_v", "counts is NULL"});
    check_error(of(heddle_all_gather_v(team, data, other, counts, nullptr, f32, nullptr)), invalid,
                {"displacements is NULL"});
    check_error(of(heddle_all_gather_v(team, data, other, counts, far, f32, nullptr)), invalid,
                {"displacements[1]", "more than an address can reach"});
    check_error(of(heddle_all_gather_v(team, data, other, counts, meeting, f32, nullptr)), invalid,
                {"pieces from PEs 1 and 0 overlap"});
    check_error(
        of(heddle_all_to_all_v(team, data, nullptr, apart, other, counts, apart, f32, nullptr)),
        invalid, {"input_counts is NULL"});
    check_error(
        of(heddle_all_to_all_v(team, data, counts, apart, other, counts, nullptr, f32, nullptr)),
        invalid, {"output_displacements is NULL"});
    const std::size_t others[] = {3, 2};
    check_error(
        of(heddle_all_to_all_v(team, data, counts, apart, other, others, apart, f32, nullptr)),
        invalid, {"input_counts[", "what this PE sends to itself"});
    const auto sum = HEDDLE_SUM;
    check_error(of(heddle_reduce_scatter_v(team, data, other, nullptr, apart, f32, sum, nullptr)),
                invalid, {"heddle_reduce_scatter_v", "counts is NULL"});
    check_error(of(heddle_reduce_scatter_v(team, data, other, counts, far, f32, sum, nullptr)),
                invalid, {"displacements[1]", "more than an address can reach"});
    check_error(of(heddle_reduce_scatter_v(team, data, nullptr, counts, apart, f32, sum, nullptr)),
                invalid, {"output is NULL"});
    check_error(of(heddle_reduce_scatter_v(team, data, other, counts, apart, f32,
                                           static_cast<heddle_op_t>(12), nullptr)),
                invalid, {"12 is not a heddle_op_t"});
    check_error(of(heddle_reduce_scatter_v(team, data, data + (self.my_pe() == 0 ? 4 : 0), counts,
                                           apart, f32, sum, nullptr)),
                invalid,
                {"overlaps", self.my_pe() == 0 ? "PE 1's piece" : "PE 0's piece", "in place"});
    try {
      self.world().all_gather_v(data, other, {1, 2, 3}, {0, 0, 0});
      FAIL("a list of three for two PEs");
    } catch (const heddle::error& failure) {
      CHECK(std::string(failure.what()).find("list of 3 numbers") != std::string::npos);
    }
    self.world().barrier();
  });
}

TEST_CASE("kernels that take part in collectives, launched wrongly") {
  run_pes(2, [](runtime& self) {
    const auto team = self.world().handle();
    heddle_kernel_t kernel{nullptr, [] { return static_cast<void*>(nullptr); }};
    int grid = 0;
    int block = 0;
    check_error(of(heddle_launch_collective(nullptr, nullptr, 1, 1, &kernel, &grid, 4)), invalid,
                {"heddle_launch_collective", "team is NULL"});
    check_error(of(heddle_launch_collective(team, nullptr, 1, 1, nullptr, &grid, 4)), invalid,
                {"heddle_launch_collective", "kernel is NULL"});
    check_error(of(heddle_launch_collective(team, nullptr, 1, 1, &kernel, nullptr, 4)), invalid,
                {"arguments is NULL"});
    check_error(of(heddle_launch_collective(team, nullptr, 1, 1, &kernel, &grid, 1 << 20)), invalid,
                {"1048576 bytes"});
    for (const int blocks : {1, 2})
      CHECK(heddle_launch_collective(team, nullptr, blocks, 1, &kernel, &grid, 4) !=
            HEDDLE_SUCCESS);
    check_error(of(heddle_launch_shape(team, 4, nullptr, &block)), invalid, {"grid is NULL"});
    check_error(of(heddle_launch_shape(nullptr, 4, &grid, &block)), invalid, {"team is NULL"});
    CHECK(heddle_launch_shape(team, 1 << 20, &grid, &block) == HEDDLE_SUCCESS);
    CHECK(grid == 1);
    CHECK(block == 1);
    self.world().barrier();
  });
}

TEST_CASE("operations that were not made, or for something else") {
  run_pes(2, [](runtime& self) {
    const auto team = self.world().handle();
    float data[4] = {};
    const float factor = 0.5f;
    heddle_op_t made = HEDDLE_SUM;
    const auto make = [&](heddle_type_t type, const void* from, int where, heddle_op_t* op) {
      return of(
          heddle_op_create_scaled_sum(team, type, from, static_cast<heddle_scalar_t>(where), op));
    };
    check_error(make(f32, nullptr, HEDDLE_SCALAR_HOST, &made), invalid,
                {"heddle_op_create_scaled_sum", "factor is NULL"});
    check_error(make(f32, &factor, HEDDLE_SCALAR_HOST, nullptr), invalid, {"op is NULL"});
    check_error(make(f32, &factor, 7, &made), invalid, {"7 is not a heddle_scalar_t"});
    check_error(make(static_cast<heddle_type_t>(55), &factor, 0, &made), invalid,
                {"55 is not a heddle_type_t"});
    check_error(make(HEDDLE_FLOAT16, reinterpret_cast<const char*>(&factor) + 1,
                     HEDDLE_SCALAR_DEVICE, &made),
                invalid, {"aligned to its 4 bytes", "float16"});
    CHECK(made == HEDDLE_SUM);
    REQUIRE(make(f32, &factor, HEDDLE_SCALAR_HOST, &made).status == HEDDLE_SUCCESS);
    check_error(of(heddle_all_reduce(team, data, data, 4, HEDDLE_INT32, made, nullptr)), invalid,
                {"made for elements of float32, not of int32"});
    const auto pair = self.world().split_color(0, self.my_pe());
    check_error(of(heddle_all_reduce(pair.handle(), data, data, 4, f32, made, nullptr)), invalid,
                {"none that was made for this team"});
    CHECK(heddle_all_reduce(team, data, data, 4, f32, made, nullptr) == HEDDLE_SUCCESS);
    CHECK(heddle_op_destroy(team, made) == HEDDLE_SUCCESS);
    check_error(of(heddle_op_destroy(team, made)), invalid, {"heddle_op_destroy", "no operation"});
    check_error(of(heddle_op_destroy(team, HEDDLE_SUM)), invalid, {"0 is no operation"});
    check_error(of(heddle_all_reduce(team, data, data, 4, f32, made, nullptr)), invalid,
                {"none that was made"});
    self.world().barrier();
  });
}

TEST_CASE("HEDDLE_CHECK=1 names who calls differently") {
  environment_variable check("HEDDLE_CHECK", "1");
  run_pes(3, [](runtime& self) {
    const auto team = self.world().handle();
    const auto me = static_cast<std::size_t>(self.my_pe());
    float data[64] = {};
    float other[64] = {};
    constexpr auto mismatch = HEDDLE_ERROR_MISMATCH;
    check_error(
        of(heddle_broadcast(team, data, data, 4, f32, me == 2 ? 1 : 0, nullptr)), mismatch,
        {"PE 2 gave count 4, type float32, root 1", "PE 0 gave count 4, type float32, root 0"});
    check_error(of(heddle_all_gather(team, data, other, me == 1 ? 5 : 4, f32, nullptr)), mismatch,
                {"PE 1 gave count 5", "PE 0 gave count 4"});
    check_error(of(me == 1 ? heddle_all_to_all(team, data, other, 4, f32, nullptr)
                           : heddle_all_gather(team, data, other, 4, f32, nullptr)),
                mismatch, {"different functions"});
    check_error(
        of(me == 1 ? heddle_broadcast(team, data, data, 4, f32, 0, nullptr) : heddle_barrier(team)),
        mismatch, {"PEs 1 and 0 have called different functions"});
    check_error(of(heddle_reduce(team, data, other, 4, f32, HEDDLE_SUM, me == 1 ? 1 : 0, nullptr)),
                mismatch, {"PE 1 gave count 4, type float32, op sum, root 1", "PE 0 gave"});
    check_error(of(me == 1 ? heddle_all_reduce(team, data, other, 4, f32, HEDDLE_SUM, nullptr)
                           : heddle_reduce_scatter(team, data, other, 4, f32, HEDDLE_SUM, nullptr)),
                mismatch, {"different functions"});
    const std::size_t differing = me == 1 ? 5 : 4;
    const auto type = me == 2 ? HEDDLE_INT32 : f32;
    const auto differ = [](heddle_status_t status, const char* theirs) {
      check_error(of(status), mismatch, {theirs, "PE 0 gave count 4, type float32"});
    };
    differ(heddle_all_reduce(team, data, other, differing, f32, HEDDLE_SUM, nullptr),
           "PE 1 gave count 5");
    differ(heddle_all_reduce(team, data, other, 4, type, HEDDLE_SUM, nullptr),
           "PE 2 gave count 4, type int32");
    differ(heddle_reduce_scatter(team, data, other, differing, f32, HEDDLE_SUM, nullptr),
           "PE 1 gave count 5");
    differ(heddle_broadcast(team, data, other, differing, f32, 0, nullptr), "PE 1 gave count 5");
    differ(heddle_reduce(team, data, other, differing, f32, HEDDLE_SUM, 0, nullptr),
           "PE 1 gave count 5");
    differ(heddle_all_to_all(team, data, other, differing, f32, nullptr), "PE 1 gave count 5");
    differ(heddle_all_to_all(team, data, other, 4, type, nullptr), "PE 2 gave count 4, type int32");
    differ(heddle_gather(team, data, other, differing, f32, 0, nullptr), "PE 1 gave count 5");
    differ(heddle_scatter(team, data, other, differing, f32, 0, nullptr), "PE 1 gave count 5");
    check_error(of(heddle_all_reduce(team, data, other, 4, f32, me == 1 ? HEDDLE_MAX : HEDDLE_SUM,
                                     nullptr)),
                mismatch, {"PE 1 gave count 4, type float32, op", "PE 0 gave"});
    const std::size_t counts[] = {2, 3, me == 2 ? std::size_t{9} : 4};
    const std::size_t places[] = {0, 16, 32};
    check_error(of(heddle_all_gather_v(team, data, other, counts, places, f32, nullptr)), mismatch,
                {"PE 2 gave count 9 for PE 2", "PE 0 gave 4"});
    check_error(
        of(heddle_reduce_scatter_v(team, data, other, counts, places, f32, HEDDLE_SUM, nullptr)),
        mismatch, {"PE 2 gave count 9 for PE 2", "PE 0 gave 4"});
    check_error(of(me == 1 ? heddle_all_reduce(team, data, other, 4, f32, HEDDLE_SUM, nullptr)
                           : heddle_reduce_scatter_v(team, data, other, counts, places, f32,
                                                     HEDDLE_SUM, nullptr)),
                mismatch, {"different functions"});
    heddle_kernel_t kernel{[](const void*, const void*) {}, nullptr};
    check_error(of(heddle_launch_collective(team, nullptr, me == 2 ? 3 : 1, 1, &kernel, data, 4)),
                mismatch, {"PE 2 gave 3 blocks", "PE 0 gave 1 blocks"});
    const heddle::scaled_sum<float> scaled(self.world(), me == 1 ? 2.0f : 1.0f);
    check_error(
        of(heddle_all_reduce(team, data, other, 4, f32,
                             static_cast<heddle_op_t>(static_cast<heddle::op>(scaled)), nullptr)),
        mismatch, {"PE 1 gave", "factor 0x40000000", "PE 0 gave", "factor 0x3f800000"});
    // PE 0 waits for 5 elements of PE 1, which sends 1.
    const std::size_t sent[] = {1, 1, 1};
    const std::size_t received[] = {1, me == 0 ? std::size_t{5} : 1, 1};
    check_error(
        of(heddle_all_to_all_v(team, data, sent, places, other, received, places, f32, nullptr)),
        mismatch, {"PE 0 receives 5 elements from PE 1, which sends 1"});
    self.world().all_gather(data, other, 4);  // nothing is lost
  });
}

TEST_CASE("a PE that does not come is named, whoever waits for it") {
  environment_variable timeout("HEDDLE_TIMEOUT", std::to_string(patient(0.5)));
  run_pes(3, [](runtime& self) {
    const auto team = self.world().handle();
    if (self.my_pe() == 1) return;  // leaves at the end of its thread
    float data[8] = {};
    float other[24] = {};
    const auto got = of(heddle_all_gather(team, data, other, 8, f32, nullptr));
    CAPTURE(got.text);
    CHECK((got.status == HEDDLE_ERROR_TIMEOUT || got.status == HEDDLE_ERROR_PEER_LOST ||
           got.status == HEDDLE_ERROR_ABORTED));
    CHECK(got.text.find("PE 1") != std::string::npos);
  });
}

// Its PEs count calls: what is of the one that failed would be taken for the next.
TEST_CASE("a collective that fails on one PE ends the team on all") {
  for (const char* threads : {"1", "2"})
    for (const std::size_t n : {std::size_t{1}, std::size_t{100'000}})
      for (const bool on_stream : {false, true}) {
        CAPTURE(threads);
        CAPTURE(n);
        CAPTURE(on_stream);
        const environment_variable of_block("HEDDLE_BLOCK_THREADS", threads);
        run_pes(2, [&](runtime& self) {
          const auto team = self.world().split_strided(0, 1, 2);
          const auto queue = self.create_stream();
          const std::vector<long> input(n, 1 + self.my_pe());
          std::vector<long> output(n);
          const auto add = [&](bool fails) -> heddle::testing::outcome {
            try {
              if (on_stream)
                heddle::all_reduce_by(team, input.data(), output.data(), n, perhaps_adding{fails},
                                      queue);
              else
                heddle::all_reduce_by(team, input.data(), output.data(), n, perhaps_adding{fails});
              if (on_stream) queue.synchronize();
              return {HEDDLE_SUCCESS, {}};
            } catch (const heddle::error& failure) {
              return {failure.status(), failure.what()};
            }
          };
          check_error(add(false), HEDDLE_SUCCESS, {});
          CHECK(output == std::vector<long>(n, 3));
          std::fill(output.begin(), output.end(), 0);
          const auto first = add(self.my_pe() == 0);
          if (self.my_pe() == 0)
            check_error(first, HEDDLE_ERROR_INVALID_USAGE, {"a kernel threw an exception: no ink"});
          else
            CHECK((first.status == HEDDLE_ERROR_ABORTED ||
                   (first.status == HEDDLE_SUCCESS && output == std::vector<long>(n, 3))));
          check_error(add(false), HEDDLE_ERROR_ABORTED,
                      {"PE 0 aborted team world[0:1:2]: a collective failed: a kernel threw an "
                       "exception: no ink"});
          self.world().barrier();  // it is not ended
        });
      }
}

TEST_CASE("more elements than a process has memory for are told of by a user's reduction") {
  const runtime self;
  long word = 0;
  const auto most = std::numeric_limits<std::size_t>::max();
  for (const std::size_t n : {most, most / 4, (std::size_t{1} << 44) + 1})
    CHECK_THROWS_WITH_AS(heddle::all_reduce_by(self.world(), &word, &word, n, adding()),
                         doctest::Contains("elements of 8 bytes is more memory than a process has"),
                         heddle::error);
}

TEST_CASE(
    "HEDDLE_CHECK=1 compares what a user's reductions are given, and what a program asks for") {
  environment_variable check("HEDDLE_CHECK", "1");
  run_pes(3, [](runtime& self) {
    const auto world = self.world();
    const bool differs = self.my_pe() == 1;
    long in[24] = {1, 1, 1, 1, 1};
    long out[24] = {};
    const auto is_told = [&](const char* function, const std::string& theirs,
                             const std::string& mine, auto call) {
      const auto text =
          std::string(function) + " on team world: PE 1 gave " + theirs + "; PE 0 gave " + mine;
      CHECK_THROWS_WITH_AS(call(), text.c_str(), heddle::error);
    };
    const std::string eight = "bytes of an element 8, root 0";
    const std::size_t n = differs ? 5 : 4;
    is_told("all_reduce_by", "count 5, " + eight, "count 4, " + eight,
            [&] { heddle::all_reduce_by(world, in, out, n, adding()); });
    is_told("reduce_scatter_by", "count 5, " + eight, "count 4, " + eight,
            [&] { heddle::reduce_scatter_by(world, in, out, n, adding()); });
    is_told("reduce_by", "count 5, " + eight, "count 4, " + eight,
            [&] { heddle::reduce_by(world, in, out, n, adding(), 0); });
    is_told("reduce_by", "count 4, bytes of an element 8, root 2", "count 4, " + eight,
            [&] { heddle::reduce_by(world, in, out, 4, adding(), differs ? 2 : 0); });
    is_told("all_reduce_by", "count 4, bytes of an element 2, root 0", "count 4, " + eight, [&] {
      short few[4] = {};
      if (differs)
        heddle::all_reduce_by(world, few, few, 4, adding());
      else
        heddle::all_reduce_by(world, in, out, 4, adding());
    });
    is_told("blend", "alpha 3", "alpha 2", [&] {
      world.require_same("blend", {{"alpha", differs ? 3u : 2u}});
    });
    const heddle_named_value_t values[7] = {{"alpha", 2}, {"beta", 3}, {nullptr, 0}};
    const auto compare = [&](const char* function, const heddle_named_value_t* given, int count) {
      return heddle_require_same(world.handle(), function, given, count);
    };
    check_error(of(compare("blend", values, differs ? 2 : 1)), HEDDLE_ERROR_MISMATCH,
                {"blend on team world: PE 1 gave ", "alpha 2", "n = "});
    check_error(of(compare(differs ? "blend" : "mix", values, 1)), HEDDLE_ERROR_MISMATCH,
                {"PEs 1 and 0 have called different functions"});
    CHECK(compare("blend", values, 2) == HEDDLE_SUCCESS);
    CHECK(compare("blend", nullptr, 0) == HEDDLE_SUCCESS);
    check_error(of(compare("blend", values, 7)), invalid, {"n is 7; 0 to 6 values are compared"});
    check_error(of(compare("blend", values, -1)), invalid, {"n is -1"});
    check_error(of(compare("blend", values, 3)), invalid, {"a value's name is NULL"});
    check_error(of(compare("blend", nullptr, 1)), invalid, {"values is NULL"});
    check_error(of(compare(nullptr, values, 1)), invalid, {"function is NULL"});
    heddle::all_reduce_by(world, in, out, 4, adding());
    CHECK(out[0] == 3);
  });
}

TEST_CASE("without HEDDLE_CHECK nothing is compared") {
  run_pes(2, [](runtime& self) {
    self.world().require_same("blend", {{"alpha", static_cast<std::uint64_t>(self.my_pe())}});
    if (self.my_pe() == 0) self.world().require_same("blend", {});
  });
}
