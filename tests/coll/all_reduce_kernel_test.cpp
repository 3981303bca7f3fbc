// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "coll/reduction_runner.hpp"

using namespace heddle;
using namespace heddle::testing;

TEST_CASE("every algorithm, protocol, type and reduction is exact on any number of PEs") {
  for (int n_pes : pe_counts({1, 2, 3, 4, 5, 6, 7, 8})) {
    local_team team(n_pes, {.threads = block_threads()});
    for (const plan& chosen : all_plans) {
      CAPTURE(n_pes);
      CAPTURE(name_of(chosen.algo));
      CAPTURE(name_of(chosen.proto));
      runner run{team, chosen};
      for (heddle_op_t op : some_ops(n_pes)) {
        CAPTURE(op);
        CHECK_NOTHROW(run.all_types(op, 0, false));
        CHECK_NOTHROW(run.all_types(op, 1, false));
        CHECK_NOTHROW(run.all_types(op, 1021, true));
      }
    }
  }
}

TEST_CASE("sums of every type are scaled by every algorithm and protocol") {
  for (int n_pes : fewer<int>({1, 2, 5}, {3})) {
    const local_team team(n_pes, {.threads = block_threads()});
    for (const plan& chosen : all_plans) {
      CAPTURE(n_pes);
      CAPTURE(name_of(chosen.algo));
      CAPTURE(name_of(chosen.proto));
      runner run{team, chosen};
      CHECK_NOTHROW(run.all_doubled(333));
    }
  }
}

TEST_CASE("rings and trees go from PE to PE in any order") {
  for (int n_pes : pe_counts({2, 3, 6, 7}))
    for (const bool backwards : {false, true}) {
      std::vector<std::int32_t> pes;
      for (int i = 0; i < n_pes; i += 2) pes.push_back(i);  // as of two hosts, dealt in turn
      for (int i = 1; i < n_pes; i += 2) pes.push_back(i);
      if (backwards) std::reverse(pes.begin(), pes.end());
      const local_team team(n_pes, {.threads = block_threads(), .ring = team_order(pes)});
      for (const plan& chosen : all_plans) {
        if (chosen.algo != algorithm::ring && chosen.algo != algorithm::tree) continue;
        CAPTURE(n_pes);
        CAPTURE(name_of(chosen.algo));
        CAPTURE(name_of(chosen.proto));
        runner run{team, chosen, 2};
        for (std::size_t count : {1, 1021, 70'001}) {
          CHECK_NOTHROW(run.all_reduce<float>(HEDDLE_FLOAT32, HEDDLE_SUM, count, true));
          for (int i = 0; i < (is_cut_short() && count > 1021 ? 1 : n_pes);
               ++i)  // each is the root
            CHECK_NOTHROW(run.reduce_both<bf16>(HEDDLE_BFLOAT16, HEDDLE_MAX, count, false));
        }
      }
    }
}

namespace {

/// What rounding at every step would lose: PE 0 has the largest element whose neighbour is two
/// away, the others one each.
template <class T>
void round_once(const local_team& team, heddle_type_t type, float large, std::size_t count) {
  const int n_pes = team.n_pes();
  const plan chosen{.algo = algorithm::ring, .proto = protocol::simple, .wide = true};
  for (const auto kind :
       {reduce_kind::all_reduce, reduce_kind::reduce_scatter, reduce_kind::reduce}) {
    const bool scatters = kind == reduce_kind::reduce_scatter;
    const std::size_t all = scatters ? count * static_cast<std::size_t>(n_pes) : count;
    const auto entry = all_reduce_kernel(type, HEDDLE_SUM).on_host;
    team.run([&](int pe) {
      std::vector<T> input(all, from_float<T>(pe == 0 ? large : 1.0f));
      std::vector<T> output(count);
      library_kernel kernel{entry, args_of(chosen, team.ref(pe), type, HEDDLE_SUM, input.data(),
                                           output.data(), count)};
      kernel.args.kind = kind;
      kernel.args.root = n_pes - 1;
      set_root(kernel.args.topology, n_pes, n_pes - 1);
      team.launch(pe, 2, kernel);
      if (kind == reduce_kind::reduce && pe != n_pes - 1) return;
      const float sum = to_float(from_float<T>(large + static_cast<float>(n_pes - 1)));
      for (const T& each : output)
        if (to_float(each) != sum)
          throw std::runtime_error("PE " + std::to_string(pe) + " has " +
                                   std::to_string(to_float(each)) + ", not " + std::to_string(sum));
    });
  }
}

}  // namespace

TEST_CASE("small floats that travel a ring as float32 are rounded once") {
  for (int n_pes : pe_counts({2, 4, 7})) {
    const local_team team(n_pes, {.threads = block_threads()});
    for (std::size_t count : {1, 1001, 100'003}) {
      CAPTURE(n_pes);
      CAPTURE(count);
      CHECK_NOTHROW(round_once<f16>(team, HEDDLE_FLOAT16, 2048, count));
      CHECK_NOTHROW(round_once<bf16>(team, HEDDLE_BFLOAT16, 256, count));
      CHECK_NOTHROW(round_once<f8_e4m3>(team, HEDDLE_FLOAT8_E4M3, 16, count));
      CHECK_NOTHROW(round_once<f8_e5m2>(team, HEDDLE_FLOAT8_E5M2, 8, count));
    }
  }
}

TEST_CASE("any count works: sizes that divide by nothing, that fill slots, that take many rounds") {
  for (int n_pes : pe_counts({2, 3, 8})) {
    local_team team(n_pes, {.threads = block_threads()});
    for (const plan& chosen : all_plans) {
      CAPTURE(n_pes);
      CAPTURE(name_of(chosen.algo));
      CAPTURE(name_of(chosen.proto));
      runner run{team, chosen};
      for (std::size_t count : fewer<std::size_t>(
               {2, 3, 15, 16, 17, 1024, 2047, 16384, 16385, 65537, 300007}, {3, 16385, 70001}))
        for (bool in_place : {false, true})
          CHECK_NOTHROW(run.all_reduce<float>(HEDDLE_FLOAT32, HEDDLE_SUM, count, in_place));
      CHECK_NOTHROW(run.all_reduce<bf16>(HEDDLE_BFLOAT16, HEDDLE_MAX, 100003, true));
    }
  }
}

namespace {

/// A user's own reduction, with state: the larger magnitude, and at the end less than a limit.
struct largest_magnitude {
  int limit;
  template <class A>
  A combine(A a, A b) const {
    return b * b > a * a ? b : a;
  }
  template <class A>
  A finish(A a) const {
    return a > limit ? limit : a;
  }
};

template <class T>
void reduce_by_own(const plan& chosen, host_block block, const all_reduce_args& args,
                   largest_magnitude op) {
  const auto by = [&](auto proto) {
    constexpr protocol p = decltype(proto)::value;
    if (chosen.algo == algorithm::one_shot) all_reduce_one_shot<p, T>(block, args, op);
    if (chosen.algo == algorithm::ring) all_reduce_ring<p, T>(block, args, op);
    if (chosen.algo == algorithm::tree) all_reduce_tree<p, T>(block, args, op);
  };
  if (chosen.algo == algorithm::two_shot) return all_reduce_two_shot<T>(block, args, op);
  if (chosen.algo == algorithm::multicast) return all_reduce_two_shot<T>(block, args, op, true);
  if (chosen.proto == protocol::simple) by(std::integral_constant<protocol, protocol::simple>{});
  if (chosen.proto == protocol::ll) by(std::integral_constant<protocol, protocol::ll>{});
  if (chosen.proto == protocol::ll128) by(std::integral_constant<protocol, protocol::ll128>{});
}

}  // namespace

TEST_CASE("a user's own reduction, with state, is combined and finished by every algorithm") {
  constexpr std::size_t count = 3001;
  for (int n_pes : pe_counts({1, 2, 3, 5})) {
    const local_team team(n_pes, {.threads = block_threads()});
    for (const plan& chosen : all_plans)
      CHECK_NOTHROW(team.run([&](int pe) {
        CAPTURE(name_of(chosen.algo));
        auto* values = team.user<int>(pe);
        for (std::size_t i = 0; i < count; ++i)
          values[i] = static_cast<int>(i % 97) * (pe % 2 == 0 ? 1 : -1) + pe;
        const auto args =
            args_of(chosen, team.ref(pe), HEDDLE_INT32, HEDDLE_SUM, values, values, count);
        const auto kernel = [chosen, args](host_block block) {
          reduce_by_own<int>(chosen, block, args, {50});
        };
        team.launch(pe, 1, kernel);
        for (std::size_t i = 0; i < count; ++i) {
          int expected = static_cast<int>(i % 97);
          for (int other = 1; other < n_pes; ++other) {
            const int value = static_cast<int>(i % 97) * (other % 2 == 0 ? 1 : -1) + other;
            if (value * value > expected * expected) expected = value;
          }
          if (values[i] != std::min(expected, 50)) throw std::runtime_error("not the largest");
        }
      }));
  }
}

TEST_CASE("channels share the elements among blocks") {
  local_team team(is_cut_short() ? 3 : 4, {.threads = block_threads()});
  for (const plan& chosen : all_plans)
    for (int channels : fewer<int>({2, 3, 8, 16}, {3})) {
      CAPTURE(name_of(chosen.algo));
      CAPTURE(channels);
      runner run{team, chosen, channels};
      for (std::size_t count : fewer<std::size_t>({1, 31, 5000, 140001}, {31, 5000}))
        CHECK_NOTHROW(run.all_reduce<float>(HEDDLE_FLOAT32, HEDDLE_SUM, count, false));
    }
}

TEST_CASE("a direct average of halves is not lost in a sum that they cannot hold") {
  constexpr std::size_t count = 100;
  const local_team team(8, {.threads = block_threads()});
  const f16 value = to_f16(10'000.0f);
  for (const plan& chosen : all_plans) {
    if (!is_direct(chosen.algo)) continue;
    CAPTURE(name_of(chosen.algo));
    CAPTURE(name_of(chosen.proto));
    const auto entry = all_reduce_kernel(HEDDLE_FLOAT16, HEDDLE_AVG).on_host;
    CHECK_NOTHROW(team.run([&](int pe) {
      auto* values = team.user<f16>(pe);
      for (std::size_t i = 0; i < count; ++i) values[i] = value;
      const library_kernel kernel{
          entry, args_of(chosen, team.ref(pe), HEDDLE_FLOAT16, HEDDLE_AVG, values, values, count)};
      team.launch(pe, 1, kernel);
      for (std::size_t i = 0; i < count; ++i)
        if (values[i].bits != value.bits) throw std::runtime_error("the average is wrong");
    }));
  }
}

TEST_CASE("channels without elements do not enter, so that the others' way cannot mislead them") {
  // Of 64 channels most have none; PE 1 uses private buffers in every other call.
  const local_team team(3, {.threads = 1});
  const plan chosen{.algo = algorithm::two_shot};
  const auto entry = all_reduce_kernel(HEDDLE_FLOAT32, HEDDLE_SUM).on_host;
  CHECK_NOTHROW(team.run([&](int pe) {
    for (int call = 0; call < 60; ++call) {
      const auto count = static_cast<std::size_t>(1 + call * 17);
      std::vector<float> own(count);
      float* values = pe == 1 && call % 2 == 0 ? own.data() : team.user<float>(pe);
      for (std::size_t i = 0; i < count; ++i)
        values[i] = from_int<float>(input_of(HEDDLE_SUM, pe, i, call, 3));
      const library_kernel kernel{
          entry, args_of(chosen, team.ref(pe), HEDDLE_FLOAT32, HEDDLE_SUM, values, values, count)};
      team.launch(pe, 64, kernel);
      for (std::size_t i = 0; i < count; ++i)
        if (values[i] != from_int<float>(result_of(HEDDLE_SUM, i, call, 3)))
          throw std::runtime_error("call " + std::to_string(call) + " is wrong");
    }
  }));
}

TEST_CASE("calls of any number of channels follow each other in one staging area") {
  constexpr std::size_t count = 50'021;
  const local_team team(3, {.threads = block_threads()});
  const plan chosen{.algo = algorithm::two_shot};
  const auto entry = all_reduce_kernel(HEDDLE_FLOAT32, HEDDLE_SUM).on_host;
  CHECK_NOTHROW(team.run([&](int pe) {
    std::vector<float> input(count);
    std::vector<float> output(count);
    const library_kernel kernel{entry, args_of(chosen, team.ref(pe), HEDDLE_FLOAT32, HEDDLE_SUM,
                                               input.data(), output.data(), count)};
    int call = 0;
    for (int round = 0; round < 3; ++round)
      for (int channels : {1, 64, 3, 16, 1, 33, 2, 8}) {
        ++call;
        for (std::size_t i = 0; i < count; ++i)
          input[i] = from_int<float>(input_of(HEDDLE_SUM, pe, i, call, 3));
        team.launch(pe, channels, kernel);  // the PEs do not wait for each other between calls
        for (std::size_t i = 0; i < count; ++i)
          if (output[i] != from_int<float>(result_of(HEDDLE_SUM, i, call, 3)))
            throw std::runtime_error("call " + std::to_string(call) + ", " +
                                     std::to_string(channels) + " channels: element " +
                                     std::to_string(i) + " is wrong");
      }
  }));
}

TEST_CASE("buffers may be misaligned, private or of both kinds, and a team's slots in any order") {
  local_team team(is_cut_short() ? 3 : 4, {.threads = block_threads(), .table = true});
  for (const plan& chosen : all_plans)
    for (buffers where :
         {buffers::misaligned, buffers::private_memory, buffers::private_on_odd_pes})
      for (std::size_t count : fewer<std::size_t>({1, 1000, 700001}, {1000, 9001})) {
        CAPTURE(name_of(chosen.algo));
        CAPTURE(count);
        runner run{team, chosen};
        CHECK_NOTHROW(run.all_reduce<f16>(HEDDLE_FLOAT16, HEDDLE_SUM, count, false, where));
        CHECK_NOTHROW(run.all_reduce<double>(HEDDLE_FLOAT64, HEDDLE_SUM, count, true, where));
      }
}

TEST_CASE("results written round the caches are as exact, and visible to all") {
  for (int n_pes : pe_counts({2, 3, 8})) {
    local_team team(n_pes, {.threads = block_threads()});
    runner run{team, {.algo = algorithm::two_shot, .proto = protocol::simple, .streaming = true}};
    for (std::size_t count : {1, 63, 64, 65, 1000, 100003})
      for (bool in_place : {false, true})
        for (buffers where : {buffers::symmetric, buffers::misaligned}) {
          CAPTURE(count);
          CHECK_NOTHROW(run.all_reduce<float>(HEDDLE_FLOAT32, HEDDLE_SUM, count, in_place, where));
          CHECK_NOTHROW(run.all_reduce<bf16>(HEDDLE_BFLOAT16, HEDDLE_AVG, count, in_place, where));
          CHECK_NOTHROW(run.all_reduce<int64_t>(HEDDLE_INT64, HEDDLE_MIN, count, in_place, where));
        }
  }
}

TEST_CASE("who comes after the others have given up writes nothing into their memory") {
  constexpr std::size_t count = 100'000;
  const local_team team(2, {.threads = block_threads(), .timeout = 0.2});
  std::atomic<bool> gave_up = false;
  team.run([&](int pe) {
    auto* output = team.user<int>(pe, std::size_t{24} << 20);
    std::fill(output, output + count, 77);
    while (pe == 1 && !gave_up) std::this_thread::yield();
    const library_kernel kernel{
        all_reduce_kernel(HEDDLE_INT32, HEDDLE_SUM).on_host,
        args_of({.algo = algorithm::two_shot, .proto = protocol::simple}, team.ref(pe),
                HEDDLE_INT32, HEDDLE_SUM, team.user<int>(pe), output, count)};
    team.launch(pe, 1, kernel);
    gave_up = true;
    CHECK(team.ref(pe).aborted());
  });
  const auto* output = team.user<int>(0, std::size_t{24} << 20);
  CHECK(std::count(output, output + count, 77) == count);
}

TEST_CASE("ReduceScatter and Reduce: every type, reduction, algorithm and protocol is exact") {
  for (int n_pes : pe_counts({1, 2, 3, 4, 5, 6, 7, 8})) {
    const local_team team(n_pes, {.threads = block_threads()});
    for (const plan& chosen : all_plans) {
      CAPTURE(n_pes);
      CAPTURE(name_of(chosen.algo));
      CAPTURE(name_of(chosen.proto));
      runner run{team, chosen};
      for (heddle_op_t op : some_ops(n_pes)) {
        CAPTURE(op);
        CHECK_NOTHROW(run.reduce_all_types(op, 0, false));
        CHECK_NOTHROW(run.reduce_all_types(op, 1, true));
        CHECK_NOTHROW(run.reduce_all_types(op, 1021, false));
      }
    }
  }
}

TEST_CASE("ReduceScatter and Reduce of any count, by any number of channels, in any memory") {
  for (int n_pes : pe_counts({2, 3, 8})) {
    const local_team team(n_pes, {.threads = block_threads(), .table = n_pes == 3});
    for (const plan& chosen : all_plans) {
      CAPTURE(n_pes);
      CAPTURE(name_of(chosen.algo));
      CAPTURE(name_of(chosen.proto));
      for (int channels : fewer<int>({1, 5}, {2})) {
        runner run{team, chosen, channels};
        for (std::size_t count : fewer<std::size_t>({2, 17, 4100, 90'007}, {17, 5007}))
          for (buffers where : {buffers::symmetric, buffers::misaligned, buffers::private_memory,
                                buffers::private_on_odd_pes}) {
            CAPTURE(count);
            CHECK_NOTHROW(run.reduce_both<float>(HEDDLE_FLOAT32, HEDDLE_SUM, count,
                                                 where != buffers::misaligned, where));
          }
      }
    }
  }
}

TEST_CASE("flags wrap: with 8 bits, many calls of changing sizes and algorithms are exact") {
  local_team team(3, {.threads = block_threads(), .flag_period = 255});
  std::vector<runner> runs;
  for (const plan& chosen : all_plans) runs.push_back({team, chosen});
  std::uint32_t random = 1;
  for (int i = 0; i < (is_cut_short() ? 300 : 1000); ++i) {
    random = random * 1664525u + 1013904223u;
    auto& run = runs[(random >> 16) % 2 == 0 ? 0 : (random >> 18) % runs.size()];
    run.call = i;
    const std::size_t count = 1 + (random >> 8) % ((random & 1) ? 1500 : 12);
    CAPTURE(i);
    const bool in_place = (random & 2) != 0;
    if ((random >> 20) % 3 == 0)
      REQUIRE_NOTHROW(run.reduce_both<float>(HEDDLE_FLOAT32, HEDDLE_SUM, count, in_place));
    else
      REQUIRE_NOTHROW(run.all_reduce<float>(HEDDLE_FLOAT32, HEDDLE_SUM, count, in_place));
  }
}
