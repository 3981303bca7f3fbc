// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace heddle::run {

enum class binding { automatic, core, none };

struct options {
  int size = 1;
  bool tag_output = false;
  bool keep_going = false;
  double timeout = 0;  ///< seconds; 0 for none
  double grace = 3;    ///< seconds between SIGTERM and SIGKILL
  binding bind = binding::automatic;
  std::vector<std::string> exports;  ///< NAME or NAME=VALUE
  std::vector<std::string> command;
};

/// The options, or the status to exit with at once (after --help, --version or an error, which are
/// printed).
struct parsed {
  std::optional<options> run;
  int status = 0;
};
parsed parse(int argc, char** argv);

}  // namespace heddle::run
