// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "report/bench_names.hpp"
#include "report/read_files.hpp"
#include "samples.hpp"
#include "scratch_folder.hpp"

using namespace perf::report;

namespace {

/// What is said of a file with this content.
std::string problem(const std::string& content) {
  const scratch_folder in;
  const auto path = in.file("some.json", content);
  try {
    static_cast<void>(read_files({path}));
  } catch (const std::runtime_error& failure) {
    const std::string said = failure.what();
    CHECK(said.find(path + ": ") == 0);
    return said.substr(path.size() + 2);
  }
  return "nothing";
}

/// `text` with one part of it replaced.
std::string with(std::string text, const std::string& part, const std::string& by) {
  REQUIRE(text.find(part) != std::string::npos);
  return text.replace(text.find(part), part.size(), by);
}

}  // namespace

TEST_CASE("a file of heddle-perf: a curve for each placement, by size, and their latencies") {
  const scratch_folder in;
  const auto sections = read_files({in.file("a.json", samples::perf)});
  REQUIRE(sections.size() == 1);
  const auto& all = sections[0];
  CHECK(all.runs[0].facts[0] == fact{"machine", "here"});
  REQUIRE(all.blocks[0].comparisons.size() == 1);
  const auto& compared = all.blocks[0].comparisons[0];
  CHECK(compared.title == "AllReduce, float sum, 2 PEs");
  CHECK(compared.sizes() == std::vector<std::size_t>{8, 64});
  REQUIRE(compared.curves.size() == 4);
  CHECK(compared.curves[0].name == "heddle, out-of-place");
  CHECK(compared.curves[0].of == role::heddle);
  CHECK(compared.curves[0].at(64)->busbw == doctest::Approx(0.064));
  CHECK(compared.curves[0].at(64)->note == "two_shot simple");
  CHECK(compared.curves[1].name == "heddle, out-of-place, latency");
  CHECK(compared.curves[1].at(8)->time_us == doctest::Approx(0.75));
  CHECK(compared.curves[2].name == "heddle, in-place");
  CHECK(compared.curves[2].at(64) == nullptr);
  REQUIRE(all.warnings.size() == 1);
  CHECK(all.warnings[0] ==
        "a.json: 3 wrong elements in AllReduce, float sum, 2 PEs of 64 B, out-of-place");
}

TEST_CASE("what was forced is a curve of its own") {
  const scratch_folder in;
  const std::string algo = "\"algo\": \"two_shot\"";
  const auto forced = with(samples::perf, algo, "\"forced\": true, " + algo);
  const auto sections = read_files({in.file("a.json", forced)});
  const auto& curves = sections[0].blocks[0].comparisons[0].curves;
  const auto has = [&](const std::string& name) {
    return std::any_of(curves.begin(), curves.end(),
                       [&](const curve& each) { return each.name == name; });
  };
  CHECK(has("heddle, two_shot simple, out-of-place"));
  CHECK(has("heddle, out-of-place"));
}

TEST_CASE("each root has a curve of its own, and cycles are one") {
  std::string rows;
  for (const auto& [root, time] : {std::pair{0, 1}, {0, 2}, {0, 4}, {1, 8}})
    rows += fmt::format(
        R"({}{{"collective": "broadcast", "bytes": 64, "count": 16, "type": "float", "redop": "none",
           "root": {}, "in_place": false, "algo": "none", "proto": "none", "time_us": {},
           "latency_us": 9, "algbw": 1, "busbw": {}, "wrong": 0}})",
        rows.empty() ? "" : ",", root, time, 8.0 / time);
  const std::string head = samples::perf;
  const scratch_folder in;
  const auto sections =
      read_files({in.file("a.json", head.substr(0, head.find('[') + 1) + rows + "]}")});
  const auto& curves = sections[0].blocks[0].comparisons[0].curves;
  const auto named = [&](const std::string& name) {
    return std::find_if(curves.begin(), curves.end(),
                        [&](const curve& each) { return each.name == name; });
  };
  const auto first = named("heddle, root 0");
  REQUIRE(first != curves.end());
  REQUIRE(first->points.size() == 1);
  CHECK(first->points[0].time_us == 2);
  CHECK(first->points[0].busbw == doctest::Approx(4));
  const auto second = named("heddle, root 1");
  REQUIRE(second != curves.end());
  CHECK(second->points[0].time_us == 8);
}

TEST_CASE("files of heddle-perf share a section, and their curves bear the files' names") {
  const scratch_folder in;
  const auto sections =
      read_files({in.file("before.json", samples::perf), in.file("after.json", samples::perf),
                  in.file("bench.json", samples::bench)});
  REQUIRE(sections.size() == 2);
  CHECK(sections[0].runs.size() == 2);
  const auto& curves = sections[0].blocks[0].comparisons[0].curves;
  REQUIRE(curves.size() == 8);
  CHECK(curves[0].name == "heddle, out-of-place (before)");
  CHECK(curves[4].name == "heddle, out-of-place (after)");
  CHECK(curves[4].of == role::variant);
}

TEST_CASE("a file of bench/run.py: contenders by role, medians, the best of the limits") {
  const scratch_folder in;
  const auto sections = read_files({in.file("bench.json", samples::bench)});
  REQUIRE(sections.size() == 1);
  const auto& all = sections[0];
  CHECK(all.title == "a <fast> one, 2026-11-22 20:00");
  CHECK(all.verdicts[0].word == "PASS");
  CHECK(all.warnings == std::vector<std::string>{"all_reduce, Open MPI: it <broke>"});
  CHECK(all.numbers == std::vector<fact>{{"network_put, heddle: team_bytes", "79040"}});
  REQUIRE(all.blocks.size() == 2);
  const auto& compared = all.blocks[0].comparisons.at(0);
  CHECK(compared.title == "AllReduce, float32 sum, 2 PEs");
  std::vector<std::string> names;
  for (const auto& each : compared.curves) names.push_back(each.name);
  CHECK(names == std::vector<std::string>{"heddle", "heddle ring", "Open MPI", "bare limit"});
  const auto& limit = compared.curves[3];
  CHECK(limit.at(8)->time_us == doctest::Approx(1));
  CHECK(limit.at(8)->note == "words");
  CHECK(limit.at(64)->note == "lines");
  const auto& peer = compared.curves[2];
  CHECK(peer.at(64)->time_us == doctest::Approx(10));
  CHECK(peer.at(64)->busbw == doctest::Approx(0.0064));
}

TEST_CASE("a ratio is that of the rounds in which the machine did not change") {
  const scratch_folder in;
  const auto sections = read_files({in.file("bench.json", samples::bench)});
  const auto& compared = sections[0].blocks[0].comparisons.at(0);
  const auto peers = compared.ratios(role::peer);
  REQUIRE(peers.size() == 2);
  CHECK(peers[0].against == "Open MPI");
  // Of 8 bytes the first of two rounds is comparable; of 64 bytes the first and the third.
  CHECK(peers[0].value == doctest::Approx(0.5));
  CHECK(peers[1].value == doctest::Approx(0.45));
  const auto limits = compared.ratios(role::limit);
  CHECK(limits.at(0).value == doctest::Approx(2));
  const auto found = summarize(peers);
  REQUIRE(found);
  CHECK(found->worst.bytes == 8);
  CHECK(found->mean == doctest::Approx(0.4743).epsilon(0.001));
  CHECK_FALSE(summarize({}));
}

TEST_CASE("a limit stands beside all that it is the limit of") {
  const scratch_folder in;
  const auto sections = read_files({in.file("bench.json", samples::bench)});
  const auto& rates = sections[0].blocks[1];
  CHECK(rates.title == "Put and signal between 2 hosts, 2 PEs");
  REQUIRE(rates.comparisons.size() == 2);
  for (const auto& each : rates.comparisons) {
    CHECK_FALSE(each.has_curves());
    CHECK(each.ratios(role::limit).size() == 1);
  }
}

TEST_CASE("a file of bench/gpu.py: way is compared with way, and a graph with a graph") {
  const scratch_folder in;
  const auto sections = read_files({in.file("gpu.json", samples::gpu)});
  REQUIRE(sections.size() == 1);
  REQUIRE(sections[0].blocks.size() == 2);
  const auto& latency = sections[0].blocks[0].comparisons;
  REQUIRE(latency.size() == 2);
  CHECK(latency[0].title == "Put and signal, one way, block");
  CHECK(latency[1].title == "Put and signal, one way, thread");
  const auto ratio_of = [](const comparison& one, role theirs) {
    const auto all = one.ratios(theirs);
    return all.size() == 1 ? all[0].value : 0;
  };
  CHECK(ratio_of(latency[0], role::peer) == doctest::Approx(0.25));
  CHECK(ratio_of(latency[1], role::peer) == doctest::Approx(0.5));
  CHECK(ratio_of(latency[0], role::limit) == doctest::Approx(3));
  CHECK(ratio_of(latency[1], role::limit) == doctest::Approx(2));
  const auto& reduced = sections[0].blocks[1].comparisons;
  REQUIRE(reduced.size() == 3);
  CHECK(reduced[0].title == "flag");
  CHECK(reduced[2].title == "all_reduce in a graph");
  CHECK(ratio_of(reduced[2], role::peer) == doctest::Approx(0.5));
}

TEST_CASE("names of blocks tell their PEs, names of operations the factor of the bus") {
  CHECK(pes_of("all_reduce") == 2);
  CHECK(pes_of("collectives_4") == 4);
  CHECK(pes_of("network_put") == 2);
  CHECK(block_title("crowded_8") == "AllReduce, processors shared, 8 PEs");
  CHECK(block_title("something_else") == "something_else");
  CHECK(bus_factor("all_reduce", 4) == doctest::Approx(1.5));
  CHECK(bus_factor("all_reduce in a graph", 4) == doctest::Approx(1.5));
  CHECK(bus_factor("all_gather", 4) == doctest::Approx(0.75));
  CHECK(bus_factor("broadcast", 4) == doctest::Approx(1));
  CHECK(bus_factor("put_one_way", 2) == doctest::Approx(1));
}

TEST_CASE("what is no such file is told with its name and what was expected") {
  CHECK(problem("") == "is empty, expected what heddle-perf --json or bench/run.py writes");
  CHECK(problem("{\"rows\": [").find("is no JSON, expected what heddle-perf --json or") == 0);
  CHECK(problem("\xff\xfe").find("is no JSON") == 0);
  for (const char* other : {"{}", "[1]", "7", R"({"format": "heddle-tuning-2"})"})
    CHECK(problem(other).find("an object with \"rows\", or with \"about\" and \"results\"") !=
          std::string::npos);
}

TEST_CASE("a field that is not as it should be is told with its place") {
  const std::string perf = samples::perf;
  const std::string bench = samples::bench;
  CHECK(problem(with(perf, "\"time_us\": 1,", "\"time_us\": \"1\",")) ==
        "rows[2].time_us: expected a number, found \"1\"");
  CHECK(problem(with(perf, "\"time_us\": 1,", "\"time_us\": 0,")) ==
        "rows[2].time_us: expected a number above 0, found 0");
  CHECK(problem(with(perf, "\"bytes\": 64,", "\"bytes\": -64,")) ==
        "rows[2].bytes: expected an integer of at least 0, found -64");
  CHECK(problem(with(perf, "\"busbw\": 0.064,", "")) == "rows[2]: \"busbw\" is missing");
  CHECK(problem(with(perf, "\"n_pes\": 2,", "")) == "\"n_pes\" is missing");
  CHECK(problem(R"({"version": "", "n_pes": 2, "host": "", "device": "", "date": "",
                    "command": "", "rows": []})") ==
        "rows: expected at least one row, found a list");
  CHECK(problem(with(bench, "[4, 4, 4]", "[4, {}, 4]")) ==
        "results.all_reduce.heddle.points[1].us[1]: expected a number, found an object");
  CHECK(problem(with(bench, "[4, 4, 4]", "{}")) ==
        "results.all_reduce.heddle.points[1].us: expected a list, found an object");
  CHECK(problem(with(bench, "\"passed\": true", "\"passed\": 1")) ==
        "rules[0].passed: expected true or false, found 1");
  CHECK(problem(with(bench, "\"a <fast> one\"", "null")) ==
        "about.processor: expected text, found null");
  CHECK(problem(R"({"about": {}, "results": {}})") ==
        "results: expected at least one measurement, found an object");
}

TEST_CASE("files that cannot be read, and one given twice, are errors") {
  const scratch_folder in;
  const auto said = [](const std::vector<std::string>& paths) -> std::string {
    try {
      static_cast<void>(read_files(paths));
    } catch (const std::runtime_error& failure) {
      return failure.what();
    }
    return "nothing";
  };
  CHECK(said({in.path("none.json")}) ==
        in.path("none.json") + ": cannot be read: No such file or directory");
  CHECK(said({in.path("")}) == in.path("") + ": is a folder, expected a file");
  const auto one = in.file("one.json", samples::perf);
  CHECK(said({one, one}) == one + ": is given twice");
}
