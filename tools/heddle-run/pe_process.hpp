// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "support/unique_fd.hpp"

namespace heddle::run {

/// The file that a shell would run for `name`. Throws program_error.
std::string find_program(const std::string& name);

/// The program cannot be run; `status` is what heddle-run exits with (126 or 127, as shells do).
struct program_error {
  std::string problem;
  int status;
};

struct pe_start {
  std::string program;
  std::vector<std::string> arguments;
  std::vector<std::string> environment;
  std::optional<cpu_set_t> processors;
  int input = -1;   ///< -1 for /dev/null
  int output = -1;  ///< -1 to share heddle-run's
  int errors = -1;
};

/// Starts a PE in a process group of its own, that ends with heddle-run. Throws program_error if
/// the program cannot be executed.
pid_t start_pe(const pe_start& start);

}  // namespace heddle::run
