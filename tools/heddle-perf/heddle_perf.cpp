// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <atomic>
#include <string_view>

#include "report/command.hpp"
#include "session.hpp"

namespace {

/// True if nothing was wrong.
bool measure(const perf::options& chosen, const heddle::runtime& runtime) {
  perf::results out(chosen, runtime);
  const perf::session with(chosen, runtime, out);
  if (chosen.operation == "tune") {
    perf::tune(with);
    return true;
  }
  out.start();
  if (perf::is_reduction(chosen.operation)) perf::measure_reduction(with);
  if (perf::is_exchange(chosen.operation)) perf::measure_exchange(with);
  if (chosen.operation == "put") perf::measure_put(with);
  if (chosen.operation == "get") perf::measure_get(with);
  if (chosen.operation == "signal") perf::measure_signal(with);
  if (chosen.operation == "atomic") perf::measure_atomic(with);
  if (chosen.operation == "barrier") perf::measure_barrier(with);
  if (chosen.operation == "rate") perf::measure_rate(with);
  return out.finish();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && argv[1] == std::string_view("report"))
    return perf::report::run_command(argc - 1, argv + 1);
  perf::options chosen;
  int status = 0;
  if (!perf::parse_options(argc, argv, chosen, status)) return status;
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
    return right ? 0 : 1;
  } catch (const std::exception& failure) {
    fmt::print(stderr, "heddle-perf: {}\n", failure.what());
    return 1;
  }
}
