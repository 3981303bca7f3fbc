// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "coll/tuning.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <heddle/device/coll/mailbox.hpp>
#include <heddle/error.hpp>
#include <string>

#include "bootstrap/random_bytes.hpp"
#include "coll/cost_model.hpp"
#include "coll/exchange_plan.hpp"

using namespace heddle;

namespace {

std::string refused(const std::string& text) {
  try {
    (void)read_tuning(text, "here.json", built_in_tuning(false));
  } catch (const error& failure) {
    CHECK(failure.status() == HEDDLE_ERROR_INVALID_ARGUMENT);
    return failure.what();
  }
  return "nothing was wrong";
}
bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a profile replaces what it names, and plans go by it") {
  const auto base = built_in_tuning(false);
  const auto read = [&](const std::string& ways) {
    return read_tuning(
        R"({"format": "heddle-tuning-2", "more": 1, "n_pes": 4, "ways": )" + ways + "}", "x", base);
  };
  CHECK(read("{}") == base);
  // Among 4 PEs: one hop and 3 times the bytes, two and 1.5 times, 3 pieces.
  const auto tuned = read(R"({"one_shot": {"fixed_ns": 100, "ns_per_kib": 3000},
                              "two_shot": {"fixed_ns": 200, "ns_per_kib": 15},
                              "slots": {"fixed_ns": 30, "ns_per_kib": 0}})");
  CHECK(tuned.one_shot == way_cost{100, 1000});
  CHECK(tuned.two_shot == way_cost{100, 10});
  CHECK(tuned.slots == way_cost{10, 0});
  CHECK(tuned.link == base.link);
  plan_question question{.bytes = 512, .n_pes = 2};
  CHECK(choose_reduction(question).algo == algorithm::one_shot);
  CHECK(choose_exchange(collective::all_gather, question).slots_up_to == limits_by(base).slots);
  question.tuned = &tuned;
  CHECK(choose_reduction(question).algo == algorithm::two_shot);
  CHECK(choose_exchange(collective::all_gather, question).slots_up_to == ~std::size_t{0});
  for (const bool crowded : {false, true}) {
    question.is_crowded = crowded;
    question.tuned = crowded ? &crowded_host_tuning : &tuned;
    const std::size_t few = crowded ? mailbox::simple_capacity / 2 : 0;
    CHECK(choose_exchange(collective::broadcast, question).packets_up_to == few);
    CHECK(choose_exchange(collective::gather, question).packets_up_to == few);
    CHECK(choose_exchange(collective::all_gather, question).packets_up_to == 0);
    CHECK(choose_exchange(collective::transfer, question).packets_up_to == 0);
  }
  question.is_crowded = false;
  question.tuned = &tuned;
  CHECK(choose_exchange(collective::broadcast, question).slots_up_to ==
        limits_by(base).rooted_slots);
}

TEST_CASE("a profile of what is known changes nothing") {
  const auto base = built_in_tuning(false);
  for (const int n_pes : {2, 3, 64}) {
    std::string ways;
    for (const auto& [name, cost] : entries(base, n_pes))
      ways += fmt::format(R"({}"{}": {{"fixed_ns": {}, "ns_per_kib": {}}})",
                          ways.empty() ? "" : ", ", name, cost.hop_ns, cost.ns_per_kib);
    const auto again = read_tuning(
        fmt::format(R"({{"format": "heddle-tuning-2", "n_pes": {}, "ways": {{{}}}}})", n_pes, ways),
        "x", base);
    CHECK(entries(again, 2).size() == 17);
    for (std::size_t i = 0; i < 17; ++i) {
      CHECK(entries(again, 2)[i].second.hop_ns ==
            doctest::Approx(entries(base, 2)[i].second.hop_ns));
      CHECK(entries(again, 2)[i].second.ns_per_kib ==
            doctest::Approx(entries(base, 2)[i].second.ns_per_kib));
    }
  }
}

TEST_CASE("what is no profile is refused, with the file's name and the reason") {
  CHECK(has(refused("{"), "HEDDLE_TUNING=here.json: this is not JSON"));
  CHECK(has(refused("[]"), "no object"));
  CHECK(has(refused("{}"), "\"format\" is not \"heddle-tuning-2\""));
  CHECK(has(refused(R"({"format": "heddle-tuning-2"})"), "\"n_pes\" is not a number from 2 to 64"));
  CHECK(has(refused(R"({"format": "heddle-tuning-2", "n_pes": 1})"), "from 2 to 64"));
  CHECK(has(refused(R"({"format": "heddle-tuning-2", "n_pes": 2})"), "no object \"ways\""));
  const auto ways = [](const std::string& inside) {
    return refused(R"({"format": "heddle-tuning-2", "n_pes": 2, "ways": {)" + inside + "}}");
  };
  CHECK(has(ways(R"("wrods": {})"), "\"wrods\" is not a way"));
  CHECK(has(ways(R"("words": {})"), "its \"fixed_ns\" must be a number, 0 or more"));
  CHECK(has(ways(R"("words": 8)"), "\"words\" is 8; its \"fixed_ns\""));
  CHECK(has(ways(R"("words": {"fixed_ns": 8, "ns_per_kib": -1})"), "its \"ns_per_kib\" must be"));
  CHECK(has(ways(R"("words": {"fixed_ns": "8", "ns_per_kib": 1})"), "its \"fixed_ns\" must be"));
  CHECK_THROWS_AS((void)read_tuning_file("/nowhere/at/all.json", built_in_tuning(true)),
                  const error&);
  CHECK_THROWS_WITH_AS((void)read_tuning_file("/tmp", built_in_tuning(true)),
                       doctest::Contains("HEDDLE_TUNING=/tmp: it cannot be read"), error);
  CHECK(read_tuning_file("", built_in_tuning(true)) == built_in_tuning(true));
}

TEST_CASE("a profile is a regular file of no great length, and nothing else is read") {
  const auto refused = [](const std::string& path) {
    try {
      (void)read_tuning_file(path, built_in_tuning(true));
    } catch (const error& failure) {
      return std::string(failure.what());
    }
    return std::string("it was read");
  };
  CHECK(has(refused("/dev/zero"), "HEDDLE_TUNING=/dev/zero: it cannot be read (it is a folder,"));
  const auto path = std::filesystem::temp_directory_path() / ("heddle-" + random_hex(8));
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK(has(refused(path), "not a regular file"));
  std::filesystem::remove(path);
  std::ofstream(path) << "{}";
  std::filesystem::resize_file(path, (1 << 20) + 1);
  CHECK(has(refused(path), "it has 1048577 bytes, a profile at most 1048576"));
  std::filesystem::remove(path);
}

TEST_CASE("crossovers") {
  CHECK(crossover({100, 2000}, {200, 1000}) == 102);
  CHECK(crossover({100, 1000}, {200, 1000}) == ~std::size_t{0});
  CHECK(crossover({200, 1000}, {100, 1000}) == 0);
  CHECK(crossover({200, 1000}, {100, 2000}) == ~std::size_t{0});  // from some size on
  CHECK(crossover({100, 1}, {100, 1}) == ~std::size_t{0});
}

TEST_CASE("the model: hops and bytes of each algorithm") {
  using a = algorithm;
  using c = collective;
  const auto is = [](const route& found, double hops, double bytes) {
    return found.hops == doctest::Approx(hops) && found.bytes == doctest::Approx(bytes);
  };
  CHECK(is(route_of(c::all_reduce, a::one_shot, 8, false), 1, 7));
  CHECK(is(route_of(c::all_reduce, a::two_shot, 8, false), 2, 1.75));
  CHECK(is(route_of(c::all_reduce, a::multicast, 8, false), 2, 1.125));
  CHECK(is(route_of(c::all_reduce, a::ring, 8, true), 14, 1.75));
  CHECK(is(route_of(c::all_reduce, a::ring, 2, true), 1, 1));
  CHECK(is(route_of(c::all_reduce, a::tree, 8, true), 6, 2));
  CHECK(is(route_of(c::all_reduce, a::tree, 65'536, true), 32, 2));
  CHECK(is(route_of(c::reduce_scatter, a::ring, 8, false), 7, 0.875));
  CHECK(is(route_of(c::reduce_scatter, a::one_shot, 8, false), 1, 0.875));
  CHECK(is(route_of(c::reduce_scatter, a::ring, 2, true), 1, 0.5));
  CHECK(is(route_of(c::reduce, a::ring, 8, false), 7, 1));
  CHECK(is(route_of(c::reduce, a::tree, 9, false), 4, 1));
}

TEST_CASE("what is quickest depends on how many there are") {
  const auto by_network = [](std::size_t bytes, int n_pes) {
    return choose_reduction({.bytes = bytes, .n_pes = n_pes, .all_mapped = false}).algo;
  };
  // The more PEs, the more a ring's hops cost, and the longer a tree is quicker.
  CHECK(by_network(1 << 20, 4) == algorithm::ring);
  CHECK(by_network(1 << 20, 64) == algorithm::tree);
  CHECK(by_network(std::size_t{1} << 30, 64) == algorithm::ring);
  CHECK(by_network(std::size_t{64} << 20, 1 << 16) == algorithm::tree);
  CHECK(by_network(8, 2) == algorithm::one_shot);
  CHECK(by_network(8, 64) == algorithm::tree);
  // All bytes in one hop: the more PEs, the fewer bytes.
  const auto one_shot_up_to = [](int n_pes) {
    std::size_t bytes = 8;
    while (choose_reduction({.bytes = bytes, .n_pes = n_pes}).algo == algorithm::one_shot)
      bytes *= 2;
    return bytes / 2;
  };
  CHECK(one_shot_up_to(2) > one_shot_up_to(8));
  CHECK(one_shot_up_to(8) > one_shot_up_to(64));
}

TEST_CASE("up to which power of two hosts combine in one shot") {
  const auto most = [](collective what, int n_pes, int n_processors = 2) {
    const double turns = std::max(static_cast<double>(n_pes) / n_processors, 1.0);
    const tuning costs =
        turns > 1 ? where_crowded(built_in_tuning(false), turns) : built_in_tuning(false);
    plan_question question{
        .what = what, .bytes = 8, .n_pes = n_pes, .is_crowded = turns > 1, .tuned = &costs};
    while (choose_reduction(question).algo == algorithm::one_shot) question.bytes *= 2;
    CHECK(choose_reduction(question).algo == algorithm::two_shot);
    return question.bytes / 2;
  };
  CHECK(most(collective::all_reduce, 2) == 512);
  CHECK(most(collective::reduce_scatter, 2) == 1024);  // of both pieces
  CHECK(most(collective::reduce, 2) == 1024);          // its leaf runs ahead of the root
  // A hop is a turn of each on the processor there, and two shots have two; leaves need none.
  CHECK(most(collective::all_reduce, 2, 1) >= 4 << 10);
  CHECK(most(collective::all_reduce, 3) == 4 << 10);
  CHECK(most(collective::all_reduce, 4) == 2 << 10);
  CHECK(most(collective::all_reduce, 8) == 2 << 10);
  CHECK(most(collective::reduce_scatter, 3) == 16 << 10);
  CHECK(most(collective::reduce_scatter, 4) == 16 << 10);
  CHECK(most(collective::reduce_scatter, 8) == 32 << 10);
  CHECK(most(collective::reduce, 3) == 32 << 10);
  CHECK(most(collective::reduce, 4) == 16 << 10);
  CHECK(most(collective::reduce, 8) == 16 << 10);
}

TEST_CASE("one-shot pays a hop for each slotful, and a rail that has no slots goes by a ring") {
  plan_question crowded{.bytes = 1 << 20, .n_pes = 2};
  tuning costs = built_in_tuning(false);
  costs.two_shot = {costs.one_shot.hop_ns, costs.one_shot.ns_per_kib + 1};
  crowded.tuned = &costs;
  CHECK(choose_reduction(crowded).algo == algorithm::two_shot);
  const auto rail = [](int n_pes) {
    const plan_question question{.bytes = 8, .n_pes = n_pes, .all_mapped = false, .domain_size = 8};
    return expected_ns(question, {.algo = algorithm::hierarchical});
  };
  CHECK(rail(128) > 4 * rail(64));
  // Two PEs by the network combine once, and a host's threads write no lines.
  plan_question pair{.bytes = 8 << 20, .n_pes = 2, .all_mapped = false, .widening = 2};
  CHECK(choose_reduction(pair).algo == algorithm::ring);
  CHECK_FALSE(choose_reduction(pair).wide);
  pair.n_pes = 3;
  CHECK(choose_reduction(pair).wide);
  costs.one_shot_ll = costs.one_shot = {1e6, 1};
  crowded.bytes = 8;
  CHECK(choose_reduction(crowded).proto != protocol::ll128);
}

TEST_CASE("expected times: more bytes take longer, and few channels of a GPU") {
  plan_question question{.bytes = 16 << 20, .n_pes = 8, .on_cuda = true, .max_blocks = 64};
  const auto expected = [&] { return expected_ns(question, choose_reduction(question)); };
  const double many = expected();
  question.max_channels = 1;
  CHECK(expected() > 4 * many);
  question.max_channels = 0;
  double before = 0;
  for (question.bytes = 8; question.bytes <= 1 << 30; question.bytes *= 2) {
    CHECK(expected() >= before);
    before = expected();
  }
  question.n_pes = 1;
  CHECK(expected() == 0);
}
