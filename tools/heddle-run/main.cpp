// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// heddle-run -n N [options] [--] program args...: starts a job of N PEs on this machine.

#include <fmt/format.h>

#include <exception>

#include "job.hpp"
#include "pe_process.hpp"

int main(int argc, char** argv) {
  const auto parsed = heddle::run::parse(argc, argv);
  if (!parsed.run) return parsed.status;
  try {
    return heddle::run::run_job(*parsed.run);
  } catch (const heddle::run::program_error& failure) {
    fmt::print(stderr, "heddle-run: {}\n", failure.problem);
    return failure.status;
  } catch (const std::exception& failure) {
    fmt::print(stderr, "heddle-run: {}\n", failure.what());
    return 1;
  }
}
