// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <atomic>
#include <iostream>
#include <string_view>

#include "forced_way.hpp"
#include "report/command.hpp"
#include "session.hpp"
#include "whole_file.hpp"

namespace {

void measure_sizes(const perf::session& with) {
  const auto& what = with.chosen.what;
  if (what.kind == perf::family::reduction) perf::measure_reduction(with);
  if (what.kind == perf::family::exchange) perf::measure_exchange(with);
  if (what.kind == perf::family::barrier) perf::measure_barrier(with);
  if (what.name == "put") perf::measure_put(with);
  if (what.name == "get") perf::measure_get(with);
  if (what.name == "signal") perf::measure_signal(with);
  if (what.name == "atomic") perf::measure_atomic(with);
  if (what.name == "rate") perf::measure_rate(with);
}

/// True if nothing was wrong.
bool measure(const perf::options& chosen, const heddle::runtime& runtime) {
  perf::results out(chosen, runtime);
  const perf::session with(chosen, runtime, out);
  if (chosen.what.kind == perf::family::tune) {
    perf::tune(with);
    return true;
  }
  out.start();
  for (int cycle = 0; cycle < chosen.cycles; ++cycle) {
    out.begin_cycle(cycle);
    if (chosen.ways.empty()) measure_sizes(with);
    for (const auto& way : chosen.ways) {
      const perf::forced_way forced(with.world, way, chosen.what.kind == perf::family::reduction);
      out.begin_way(way);
      measure_sizes(with);
    }
  }
  if (out.empty())
    throw perf::usage_error(
        fmt::format("sizes from {} to {} bytes (-b, -e) hold no element for each PE",
                    chosen.min_bytes, chosen.max_bytes));
  return out.finish();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && argv[1] == std::string_view("report"))
    return perf::report::run_command(argc - 1, argv + 1);
  perf::options chosen;
  const auto status = perf::parse_options(argc, argv, chosen, std::cout, std::cerr);
  if (status) return *status;
  perf::set_variables(chosen);
  try {
    std::atomic<bool> right{true};
    if (chosen.threads_as_pes > 0) {
      heddle::run_as_threads(chosen.threads_as_pes, [&](heddle::runtime& runtime) {
        if (!measure(chosen, runtime)) right = false;
      });
    } else {
      right = measure(chosen, heddle::runtime());
    }
    perf::check_printed();
    return right ? 0 : 1;
  } catch (const perf::usage_error& mistake) {
    fmt::print(stderr, "heddle-perf: {}\n", mistake.what());
    return 2;
  } catch (const std::exception& failure) {
    fmt::print(stderr, "heddle-perf: {}\n", failure.what());
    return 1;
  }
}
