// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "whole_file.hpp"

namespace perf {

namespace {

/// By heddle_type_t; nccl-tests' names.
constexpr std::array<const char*, 14> type_names = {
    "int32", "int64", "half",   "bfloat16", "float",  "double", "int8",
    "int16", "uint8", "uint16", "uint32",   "uint64", "f8e4m3", "f8e5m2"};
constexpr std::array<std::size_t, 14> type_bytes = {4, 8, 2, 2, 4, 8, 1, 2, 1, 2, 4, 8, 1, 1};
/// By redop.
constexpr std::array<const char*, 6> op_names = {"sum", "prod", "min", "max", "avg", "mulsum"};
/// By averaging.
constexpr std::array<const char*, 4> average_names = {"PE 0's medians", "medians of the PEs' mean",
                                                      "the fastest PE's medians",
                                                      "the slowest PE's medians"};
/// By memory.
constexpr std::array<const char*, 3> memory_names = {"symmetric", "private", "registered"};
/// nccl-tests' default.
constexpr int iterations_of_graph = 20;
/// A group takes so many sends and as many receives.
constexpr int most_in_group = 512;
/// What -b 0 goes on with.
constexpr std::size_t first_after_0 = 8;

/// An index in names, or "all".
template <std::size_t N, class Value>
void choose(const char* option, const std::array<const char*, N>& names, const std::string& text,
            std::vector<Value>& chosen) {
  chosen.clear();
  for (std::size_t i = 0; i < N; ++i)
    if (text == "all" || text == names[i]) chosen.push_back(static_cast<Value>(i));
  if (chosen.empty())
    throw CLI::ValidationError(option,
                               fmt::format("{}: not one of all, {}", text, fmt::join(names, ", ")));
}

int root_of(const std::string& text) {
  if (text == "all") return options::all_roots;
  int root = 0;
  if (!CLI::detail::lexical_cast(text, root) || root < options::all_roots)
    throw CLI::ValidationError("--root",
                               fmt::format("{}: not a PE, nor all (or -1) for each in turn", text));
  return root;
}

void add_sizes(CLI::App& app, options& into) {
  const auto bytes = CLI::AsSizeValue(false);
  app.add_option("-b,--minbytes", into.min_bytes,
                 "smallest size, as 8 or 64M; of collectives 0 too, then 8 and on")
      ->transform(bytes);
  app.add_option("-e,--maxbytes", into.max_bytes, "largest size")->transform(bytes);
  app.add_option("-f,--stepfactor", into.factor, "factor from one size to the next")
      ->check(CLI::Range(2, 1 << 30));
  app.add_option("-i,--stepbytes", into.step_bytes, "bytes from one size to the next, instead")
      ->transform(bytes);
}

void add_repetitions(CLI::App& app, options& into) {
  app.add_option("-n,--iters", into.iterations, "iterations of a timed batch; 0 chooses")
      ->check(CLI::Range(0, 100'000'000));
  app.add_option("-w,--warmup_iters", into.warmup, "iterations before the timed ones (5)")
      ->check(CLI::Range(0, 1'000'000));
  app.add_option("-m,--agg_iters", into.aggregated,
                 "operations of an iteration (1): of sendrecv those of one group; times are of an "
                 "operation")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("-N,--run_cycles", into.cycles, "measure all sizes so many times (1)")
      ->check(CLI::Range(0, 1'000'000));
  app.add_option("-G,--cudagraph", into.graph_replays,
                 "replay a CUDA graph of -n iterations (20) so many times; 0: no graph")
      ->check(CLI::Range(0, 1'000'000));
  app.add_option("-z,--blocking", into.blocking,
                 "1: wait for each iteration, and for all PEs, before the next");
  app.add_option("-c,--check", into.checks,
                 "0: do not check results; N: check what is timed (1), and N - 1 runs more")
      ->check(CLI::Range(0, 1'000'000));
}

void add_times(CLI::App& app, options& into) {
  app.add_option_function<int>(
         "-a,--average", [&](int how) { into.average = static_cast<averaging>(how); },
         "the time is 0: PE 0's, 1: the mean, 2: the fastest PE's, 3: the slowest PE's (default)")
      ->check(CLI::Range(0, 3));
  app.add_option("-C,--report_cputime", into.cpu_time,
                 "1: in place of the latency, the host's time of an operation until it is issued");
  app.add_option("-T,--timeout", into.timeout,
                 "seconds that a wait for another PE may take: as HEDDLE_TIMEOUT")
      ->check([](const std::string& text) -> std::string {  // CLI::Range takes a NaN
        double seconds = 0;
        if (CLI::detail::lexical_cast(text, seconds) && seconds >= 1e-6 && seconds <= 1e9)
          return {};
        return "must be a number of seconds from 1e-6 to 1e9, not " + text;
      });
}

void add_content(CLI::App& app, options& into) {
  app.add_option_function<std::string>(
      "-d,--datatype",
      [&](const std::string& text) { choose("--datatype", type_names, text, into.types); },
      "int8 to int64, uint8 to uint64, f8e4m3, f8e5m2, half, bfloat16, float (default), double or "
      "all");
  app.add_option_function<std::string>(
      "-o,--op", [&](const std::string& text) { choose("--op", op_names, text, into.reductions); },
      "sum (default), prod, min, max, avg, mulsum (a sum times a factor, the same on all PEs) or "
      "all");
  app.add_option_function<std::string>(
      "-r,--root", [&](const std::string& text) { into.root = root_of(text); },
      "of reduce, broadcast, gather and scatter (0); all or -1: each PE in turn");
  app.add_option_function<std::vector<std::string>>(
         "--ways",
         [&](const std::vector<std::string>& all) {
           for (const auto& each : all) {
             const auto found = parse_way(each);
             if (!found)
               throw CLI::ValidationError("--ways",
                                          fmt::format("{}: not {}", each, names_of_ways()));
             into.ways.push_back(*found);
           }
         },
         "measure by each of these algorithms and protocols, as ring:simple,tree:ll,one_shot")
      ->delimiter(',');
  auto* buffers = app.add_option_function<std::string>(
      "--buffers",
      [&](const std::string& text) {
        const auto found = std::find(memory_names.begin(), memory_names.end(), text);
        into.buffers = static_cast<memory>(found - memory_names.begin());
      },
      "symmetric (default), private or registered memory");
  buffers->check(CLI::IsMember(std::vector<std::string>(memory_names.begin(), memory_names.end())));
  app.add_option_function<int>(
         "-R,--local_register",
         [&](int how) {
           constexpr std::array all = {memory::own, memory::registered, memory::symmetric};
           into.buffers = all[static_cast<std::size_t>(how)];
         },
         "0: --buffers private, 1: registered, 2: symmetric")
      ->check(CLI::Range(0, 2))
      ->excludes(buffers);
}

void add_job(CLI::App& app, options& into) {
  app.add_option("-t,--nthreads,--threads-as-pes", into.threads_as_pes,
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
  app.add_option("-J,--json,--output_file", into.json_file, "write the results to this file too")
      ->check(names_file);
  app.add_option("--csv", into.csv_file, "write the table to this file as well")->check(names_file);
}

/// The first option that was given and that the operation has not; empty: none.
std::string misplaced(const CLI::App& app, const options& given) {
  const bool collective = is_collective(given.what);
  const bool tunes = given.what.kind == family::tune;
  constexpr auto* of_collectives = "collectives and sendrecv";
  constexpr auto* of_all = "everything but tune";
  struct rule {
    const char* option;
    bool has;
    const char* whose;
  };
  const std::array<rule, 13> rules = {{
      {"--ways", collective, of_collectives},
      {"--agg_iters", collective, of_collectives},
      {"--cudagraph", collective, of_collectives},
      {"--blocking", collective, of_collectives},
      {"--buffers", collective || tunes, of_collectives},
      {"--local_register", collective || tunes, of_collectives},
      {"--average", collective || given.what.kind == family::barrier,
       "collectives, sendrecv and barrier, in which all PEs do the same"},
      {"--run_cycles", !tunes, of_all},
      {"--report_cputime", !tunes, of_all},
      {"--json", !tunes, of_all},
      {"--csv", !tunes, of_all},
      {"--queues", given.what.name == "rate", "rate"},
      {"--profile", tunes, "tune"},
  }};
  for (const auto& [option, has, whose] : rules)
    if (!has && app.count(option) > 0)
      return fmt::format("{} has no {}: that is an option of {}", given.what.name, option, whose);
  if (given.root == options::all_roots && !given.what.has_root)
    return fmt::format("{} has no root that could be each PE in turn (-r)", given.what.name);
  if (given.checks > 1 && (tunes || given.what.kind == family::barrier))
    return fmt::format("{} has no result to check {} times (-c)", given.what.name, given.checks);
  if (given.min_bytes == 0 && app.count("--minbytes") > 0 && !collective)
    return fmt::format("{} has no size 0 (-b): {} have", given.what.name, of_collectives);
  return {};
}

/// What does not go together; empty: all does.
std::string contradiction(const options& given) {
  constexpr std::size_t most_bytes = std::size_t{1} << 47;  // that a process can address
  for (const auto& [size, option] :
       {std::pair{given.min_bytes, "-b"}, {given.max_bytes, "-e"}, {given.step_bytes, "-i"}})
    if (size > most_bytes)
      return fmt::format(
          "{} bytes ({}) are more than a process can address: at most {}, and none "
          "below 0",
          size, option, most_bytes);
  if (given.min_bytes > given.max_bytes)
    return fmt::format("the smallest size {} (-b) is above the largest {} (-e)", given.min_bytes,
                       given.max_bytes);
  const auto place = [](const std::string& file) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(file));
  };
  if (!given.json_file.empty() && !given.csv_file.empty() &&
      place(given.json_file) == place(given.csv_file))
    return fmt::format("--json and --csv both name {}", given.json_file);
  if (given.cycles == 0)
    return "-N 0, which is without end in nccl-tests, is not offered: give the number of cycles";
  if (given.blocking && given.graph_replays > 0)
    return "-z 1 waits for each iteration, and a graph (-G) has no waits of the host in it: give "
           "one of them";
  if (given.what.name == "sendrecv" && given.aggregated > most_in_group)
    return fmt::format("-m {}: a group takes at most {} sends and as many receives",
                       given.aggregated, most_in_group);
  return {};
}

}  // namespace

const char* name_of(heddle_type_t type) { return type_names[type]; }
std::size_t bytes_of(heddle_type_t type) { return type_bytes[type]; }
const char* name_of(redop op) { return op_names[static_cast<std::size_t>(op)]; }
const char* name_of(averaging how) { return average_names[static_cast<std::size_t>(how)]; }
const char* name_of(memory buffers) { return memory_names[static_cast<std::size_t>(buffers)]; }

std::vector<std::size_t> options::sizes() const {
  std::vector<std::size_t> all;
  for (std::size_t bytes = min_bytes; bytes <= max_bytes;) {
    all.push_back(bytes);
    const std::size_t next = step_bytes > 0 ? bytes + step_bytes
                             : bytes == 0   ? first_after_0
                                            : bytes * factor;
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
  set("HEDDLE_TIMEOUT", chosen.timeout > 0 ? fmt::format("{}", chosen.timeout) : "");
}

std::optional<int> parse_options(int argc, const char* const* argv, options& into,
                                 std::ostream& out, std::ostream& errors) {
  for (int i = 0; i < argc; ++i) into.command += (i ? " " : "") + std::string(argv[i]);
  CLI::App app("Measures heddle: time, bandwidth and correctness, in the columns of nccl-tests.");
  std::vector<std::string> names;
  for (const auto& each : operations()) names.emplace_back(each.name);
  std::string name;
  app.add_option("operation", name)->required()->check(CLI::IsMember(names));
  add_sizes(app, into);
  add_repetitions(app, into);
  add_times(app, into);
  add_content(app, into);
  add_job(app, into);
  app.footer(
      "heddle-perf report FILE... -o report.html makes a page with curves of what --json and "
      "bench/run.py wrote; see heddle-perf report --help.\n"
      "Of nccl-tests' options -g and -p are not here: a PE has one device, so start as many PEs as "
      "devices, and PEs always init at the same time.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    return app.exit(problem, out, errors) == 0 ? 0 : 2;
  }
  into.what = find_operation(name);
  // What a rate is of is small.
  if (into.what.name == "rate" && app.count("--maxbytes") == 0)
    into.max_bytes = std::max<std::size_t>(into.min_bytes, 4096);
  if (into.graph_replays > 0 && into.iterations == 0) into.iterations = iterations_of_graph;
  auto problem = misplaced(app, into);
  if (problem.empty()) problem = contradiction(into);
  if (problem.empty()) return std::nullopt;
  errors << "heddle-perf: " << problem << '\n';
  return 2;
}

}  // namespace perf
