// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// heddle-run -n N [options] [--] program args...: starts a job of N PEs on this machine.

#include <unistd.h>

#include <cstdio>
#include <exception>
#include <string_view>

#include "job.hpp"
#include "pe_process.hpp"
#include "shared_output.hpp"

namespace {

/// Neither waits for a reader nor fails if there is none.
void say(std::string_view problem) {
  auto text = heddle::run::message(problem);
  heddle::run::shared_output(STDERR_FILENO).write_some(nullptr, text);
}

int run(int argc, char** argv) {
  const auto parsed = heddle::run::parse(argc, argv);
  if (!parsed.run) return parsed.status;
  try {
    return heddle::run::run_job(*parsed.run);
  } catch (const heddle::run::program_error& failure) {
    say(failure.problem);
    return failure.status;
  } catch (const std::exception& failure) {
    say(failure.what());
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int status = run(argc, argv);
  std::fflush(nullptr);
  // Nothing is left to do, and a thread of libpmix may still be there (pmix_server).
  ::_exit(status);
}
