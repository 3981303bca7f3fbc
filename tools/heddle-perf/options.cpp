// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdlib>

namespace perf {

namespace {

/// By heddle_type_t; nccl-tests' names.
constexpr std::array<const char*, 14> type_names = {
    "int32", "int64", "half",   "bfloat16", "float",  "double", "int8",
    "int16", "uint8", "uint16", "uint32",   "uint64", "f8e4m3", "f8e5m2"};
constexpr std::array<std::size_t, 14> type_bytes = {4, 8, 2, 2, 4, 8, 1, 2, 1, 2, 4, 8, 1, 1};
constexpr std::array<const char*, 6> exchanges = {"broadcast", "all_gather", "all_to_all",
                                                  "gather",    "scatter",    "sendrecv"};
constexpr std::array<const char*, 5> op_names = {"sum", "prod", "min", "max", "avg"};

/// An index in names, or "all".
template <std::size_t N, class Value>
std::string choose(const std::array<const char*, N>& names, const std::string& text,
                   std::vector<Value>& chosen) {
  chosen.clear();
  for (std::size_t i = 0; i < N; ++i)
    if (text == "all" || text == names[i]) chosen.push_back(static_cast<Value>(i));
  return chosen.empty() ? fmt::format("{}: not one of all, {}", text, fmt::join(names, ", "))
                        : std::string();
}

}  // namespace

const char* name_of(heddle_type_t type) { return type_names[type]; }
std::size_t bytes_of(heddle_type_t type) { return type_bytes[type]; }
const char* name_of(heddle_op_t op) { return op_names[op]; }

bool is_reduction(std::string_view operation) {
  return operation == "all_reduce" || operation == "reduce_scatter" || operation == "reduce";
}
bool has_in_place(std::string_view operation) {
  return is_reduction(operation) ||
         (is_exchange(operation) && operation != "all_to_all" && operation != "sendrecv");
}
bool is_exchange(std::string_view operation) {
  return std::find(exchanges.begin(), exchanges.end(), operation) != exchanges.end();
}

std::vector<std::size_t> options::sizes() const {
  std::vector<std::size_t> all;
  for (std::size_t bytes = min_bytes; bytes <= max_bytes;) {
    all.push_back(bytes);
    const std::size_t next = step_bytes > 0 ? bytes + step_bytes : bytes * factor;
    if (next <= bytes) break;
    bytes = next;
  }
  return all;
}

void set_variables(const options& chosen) {
  const auto set = [](const char* name, const std::string& value) {
    if (!value.empty()) ::setenv(name, value.c_str(), 1);
  };
  set("HEDDLE_TRANSPORT", chosen.transport);
  set("HEDDLE_FABRIC_PROVIDER", chosen.provider);
  set("HEDDLE_P2P_DISABLE", chosen.no_p2p ? "1" : "");
}

bool parse_options(int argc, char** argv, options& into, int& status) {
  for (int i = 0; i < argc; ++i) into.command += (i ? " " : "") + std::string(argv[i]);
  CLI::App app("Measures heddle: time, bandwidth and correctness, in the columns of nccl-tests.");
  const auto bytes = CLI::AsSizeValue(false);
  app.add_option("operation", into.operation)
      ->required()
      ->check(CLI::IsMember({"all_reduce", "reduce_scatter", "reduce", "broadcast", "all_gather",
                             "all_to_all", "gather", "scatter", "sendrecv", "put", "get", "signal",
                             "atomic", "barrier", "rate", "tune"}));
  app.add_option("-b,--minbytes", into.min_bytes, "smallest size, as 8 or 64M")->transform(bytes);
  app.add_option("-e,--maxbytes", into.max_bytes, "largest size")->transform(bytes);
  app.add_option("-f,--stepfactor", into.factor, "factor from one size to the next")
      ->check(CLI::Range(2, 1 << 30));
  app.add_option("-i,--stepbytes", into.step_bytes, "bytes from one size to the next, instead")
      ->transform(bytes);
  app.add_option("-n,--iters", into.iterations, "calls of a timed batch; 0 chooses")
      ->check(CLI::Range(0, 100'000'000));
  app.add_option("-w,--warmup_iters", into.warmup)->check(CLI::Range(0, 1'000'000));
  app.add_option_function<std::string>(
      "-d,--datatype",
      [&](const std::string& text) {
        const auto problem = choose(type_names, text, into.types);
        if (!problem.empty()) throw CLI::ValidationError("--datatype", problem);
      },
      "int8 to int64, uint8 to uint64, f8e4m3, f8e5m2, half, bfloat16, float (default), double or "
      "all");
  app.add_option_function<std::string>(
      "-o,--op",
      [&](const std::string& text) {
        const auto problem = choose(op_names, text, into.reductions);
        if (!problem.empty()) throw CLI::ValidationError("--op", problem);
      },
      "sum (default), prod, min, max, avg or all");
  app.add_option("-c,--check", into.check, "0: do not check results");
  app.add_option("-r,--root", into.root, "of reduce, broadcast, gather and scatter (0)");
  app.add_option_function<std::string>(
         "--buffers", [&](const std::string& text) { into.private_buffers = text == "private"; },
         "symmetric (default) or private memory")
      ->check(CLI::IsMember({"symmetric", "private"}));
  app.add_option("--threads-as-pes", into.threads_as_pes,
                 "run so many PEs as threads, without a launcher")
      ->check(CLI::Range(1, 256));
  app.add_option("--queues", into.queues,
                 "blocks of rate, each with a context; if not given: 1, 2, 4 ... HEDDLE_CONTEXTS")
      ->check(CLI::Range(1, 16));
  app.add_option("--transport", into.transport, "network: as HEDDLE_TRANSPORT")
      ->check(CLI::IsMember({"auto", "verbs", "libfabric", "tcp", "none"}));
  app.add_option("--provider", into.provider, "of libfabric: as HEDDLE_FABRIC_PROVIDER");
  app.add_flag("--no-p2p", into.no_p2p,
               "go through the network on one host too: as HEDDLE_P2P_DISABLE=1");
  app.add_option("--profile", into.profile, "that tune writes, for HEDDLE_TUNING")
      ->capture_default_str();
  app.add_option("--json", into.json_file, "write the results to this file as well");
  app.add_option("--csv", into.csv_file, "write the table to this file as well");
  app.footer(
      "heddle-perf report FILE... -o report.html makes a page with curves of what --json and "
      "bench/run.py wrote; see heddle-perf report --help.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    status = app.exit(problem) == 0 ? 0 : 2;
    return false;
  }
  // What a rate is of is small.
  if (into.operation == "rate" && app.count("--maxbytes") == 0)
    into.max_bytes = std::max<std::size_t>(into.min_bytes, 4096);
  if (into.min_bytes > into.max_bytes) {
    fmt::print(stderr, "heddle-perf: the smallest size {} (-b) is above the largest {} (-e)\n",
               into.min_bytes, into.max_bytes);
    status = 2;
    return false;
  }
  if (!into.json_file.empty() && into.json_file == into.csv_file) {
    fmt::print(stderr, "heddle-perf: --json and --csv both name {}\n", into.json_file);
    status = 2;
    return false;
  }
  return true;
}

}  // namespace perf
