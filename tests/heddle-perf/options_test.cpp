// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <doctest/doctest.h>

#include <sstream>

using namespace perf;

namespace {

/// What a command line gives.
struct parsed {
  options chosen;
  std::optional<int> status;
  std::string errors;

  explicit parsed(const std::vector<const char*>& words) {
    std::vector<const char*> all = {"heddle-perf"};
    all.insert(all.end(), words.begin(), words.end());
    std::ostringstream out;
    std::ostringstream error_text;
    status = parse_options(static_cast<int>(all.size()), all.data(), chosen, out, error_text);
    errors = error_text.str();
  }
};

options accepted(const std::vector<const char*>& words) {
  const parsed made(words);
  CAPTURE(made.errors);
  REQUIRE(!made.status);
  return made.chosen;
}

void check_refused(const std::vector<const char*>& words, const std::string& message) {
  const parsed made(words);
  CAPTURE(message);
  CHECK(made.status == 2);
  CHECK_MESSAGE(made.errors.find(message) != std::string::npos, made.errors);
}

using sizes = std::vector<std::size_t>;

}  // namespace

TEST_CASE("without options there is one operation in an iteration, and the slowest PE counts") {
  const auto chosen = accepted({"all_reduce"});
  CHECK(chosen.what.name == "all_reduce");
  CHECK(chosen.aggregated == 1);
  CHECK(chosen.cycles == 1);
  CHECK(chosen.checks == 1);
  CHECK(chosen.root == 0);
  CHECK(chosen.graph_replays == 0);
  CHECK(chosen.average == averaging::largest);
  CHECK(chosen.buffers == memory::symmetric);
  CHECK_FALSE(chosen.blocking);
  CHECK_FALSE(chosen.cpu_time);
}

TEST_CASE("the letters are those of nccl-tests") {
  const auto chosen =
      accepted({"reduce", "-b", "1K",  "-e", "4K",   "-f", "4",   "-n", "7", "-w", "3",     "-m",
                "5",      "-N", "2",   "-a", "1",    "-C", "1",   "-z", "1", "-c", "9",     "-r",
                "3",      "-o", "avg", "-d", "half", "-T", "2.5", "-t", "4", "-J", "x.json"});
  CHECK(chosen.sizes() == sizes{1024, 4096});
  CHECK(chosen.iterations == 7);
  CHECK(chosen.warmup == 3);
  CHECK(chosen.aggregated == 5);
  CHECK(chosen.cycles == 2);
  CHECK(chosen.average == averaging::mean);
  CHECK(chosen.cpu_time);
  CHECK(chosen.blocking);
  CHECK(chosen.checks == 9);
  CHECK(chosen.root == 3);
  CHECK(chosen.reductions == std::vector{redop::avg});
  CHECK(chosen.types == std::vector{HEDDLE_FLOAT16});
  CHECK(chosen.timeout == 2.5);
  CHECK(chosen.threads_as_pes == 4);
  CHECK(chosen.json_file == "x.json");
}

TEST_CASE("sizes may begin at 0, and go on from there") {
  CHECK(accepted({"broadcast", "-b", "0", "-e", "32"}).sizes() == sizes{0, 8, 16, 32});
  CHECK(accepted({"broadcast", "-b", "0", "-e", "0"}).sizes() == sizes{0});
  CHECK(accepted({"broadcast", "-b", "0", "-e", "20", "-i", "10"}).sizes() == sizes{0, 10, 20});
}

TEST_CASE("all is every type, reduction and root") {
  const auto chosen = accepted({"reduce", "-d", "all", "-o", "all", "-r", "all"});
  CHECK(chosen.types.size() == 14);
  CHECK(chosen.reductions.back() == redop::mulsum);
  CHECK(chosen.root == options::all_roots);
  CHECK(accepted({"reduce", "-r", "-1"}).root == options::all_roots);
}

TEST_CASE("memory has a name of heddle's and a number of nccl-tests'") {
  CHECK(accepted({"gather", "--buffers", "private"}).buffers == memory::own);
  CHECK(accepted({"gather", "--buffers", "registered"}).buffers == memory::registered);
  CHECK(accepted({"gather", "-R", "0"}).buffers == memory::own);
  CHECK(accepted({"gather", "-R", "1"}).buffers == memory::registered);
  CHECK(accepted({"gather", "-R", "2"}).buffers == memory::symmetric);
  check_refused({"gather", "-R", "1", "--buffers", "private"}, "excludes");
}

TEST_CASE("a graph has a fixed number of iterations") {
  CHECK(accepted({"all_reduce", "-G", "3"}).iterations == 20);
  CHECK(accepted({"all_reduce", "-G", "3", "-n", "4"}).iterations == 4);
  check_refused({"all_reduce", "-G", "3", "-z", "1"}, "give one of them");
}

TEST_CASE("an option that an operation has not is named, with those that have it") {
  check_refused({"put", "-m", "2"}, "put has no --agg_iters: that is an option of collectives");
  check_refused({"barrier", "-z", "1"}, "barrier has no --blocking");
  check_refused({"get", "-G", "1"}, "get has no --cudagraph");
  check_refused({"signal", "-a", "1"}, "signal has no --average");
  check_refused({"put", "--buffers", "private"}, "put has no --buffers");
  check_refused({"atomic", "-R", "1"}, "atomic has no --local_register");
  check_refused({"tune", "-N", "2"}, "tune has no --run_cycles");
  check_refused({"tune", "-C", "1"}, "tune has no --report_cputime");
  check_refused({"tune", "--json", "x"}, "tune has no --json");
  check_refused({"put", "--queues", "2"}, "put has no --queues: that is an option of rate");
  check_refused({"all_gather", "-r", "all"}, "all_gather has no root");
  check_refused({"barrier", "-c", "3"}, "barrier has no result");
  check_refused({"put", "-b", "0"}, "put has no size 0");
}

TEST_CASE("a value out of range is refused") {
  check_refused({"all_reduce", "-N", "0"}, "-N 0, which is without end");
  check_refused({"all_reduce", "-m", "0"}, "--agg_iters");
  check_refused({"sendrecv", "-m", "513"}, "at most 512 sends");
  check_refused({"all_reduce", "-a", "4"}, "--average");
  check_refused({"all_reduce", "-T", "0"}, "--timeout");
  check_refused({"all_reduce", "-b", "-1", "-e", "-1"}, "(-b) are more than a process can address");
  check_refused({"put", "-e", "99999999999999999999"}, "(-e) are more than a process can address");
  check_refused({"reduce", "-r", "-2"}, "--root");
  check_refused({"reduce", "-r", "one"}, "one: not a PE");
  check_refused({"all_reduce", "-o", "xor"}, "xor: not one of all, sum");
  check_refused({"all_reduce", "-g", "2"}, "-g");
  check_refused({"fly"}, "fly");
}

TEST_CASE("ways are taken in the order that they are given in") {
  CHECK(accepted({"all_reduce"}).ways.empty());
  const auto chosen = accepted({"all_reduce", "--ways", "ring:simple,tree:ll", "--ways", "direct"});
  REQUIRE(chosen.ways.size() == 3);
  CHECK(chosen.ways[0].algorithm == HEDDLE_ALGORITHM_RING);
  CHECK(chosen.ways[0].protocol == HEDDLE_PROTOCOL_SIMPLE);
  CHECK(chosen.ways[1].algorithm == HEDDLE_ALGORITHM_TREE);
  CHECK(chosen.ways[1].protocol == HEDDLE_PROTOCOL_LL);
  CHECK(chosen.ways[2].algorithm == HEDDLE_ALGORITHM_DIRECT);
  CHECK(chosen.ways[2].protocol == HEDDLE_PROTOCOL_AUTO);
  CHECK(std::string(name_of(chosen.ways[2].algorithm)) == "direct");
  CHECK(std::string(name_of(chosen.ways[1].protocol)) == "ll");
  CHECK(std::string(name_of(chosen.ways[2].protocol)) == "none");
  for (const char* bad : {"square", "ring:", "ring:fast", ":ll", "", "ring,square"})
    check_refused({"all_reduce", "--ways", bad}, "--ways");
  check_refused({"all_reduce", "--ways", "square"}, "one of one_shot, two_shot, ring, tree");
  check_refused({"put", "--ways", "ring"}, "put has no --ways");
}
