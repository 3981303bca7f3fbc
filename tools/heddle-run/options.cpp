// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <fmt/format.h>
#include <heddle/heddle.h>

#include <CLI/CLI.hpp>
#include <map>

namespace heddle::run {

parsed parse(int argc, char** argv) {
  options chosen;
  CLI::App app{"Runs a program as the PEs of one heddle job on this machine."};
  app.footer(
      "The first PE that fails ends the job, and its status (128 + N for signal N) is "
      "heddle-run's.\n"
      "Statuses of its own: 2 bad usage, 124 --timeout, 126 and 127 the program cannot be run.");
  app.set_version_flag("--version", fmt::format("heddle-run {}.{}.{}", HEDDLE_VERSION_MAJOR,
                                                HEDDLE_VERSION_MINOR, HEDDLE_VERSION_PATCH));
  app.add_option("-n,--np", chosen.size, "Number of PEs")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  app.add_flag("--tag-output", chosen.tag_output, "Begin each line of output with [PE]");
  app.add_flag("--keep-going", chosen.keep_going, "Let the other PEs run on when one fails");
  app.add_option("--timeout", chosen.timeout, "End the job after so many seconds")
      ->check(CLI::PositiveNumber);
  app.add_option("--grace", chosen.grace, "Seconds from SIGTERM to SIGKILL when the job is ended")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("-x", chosen.exports, "Set VAR=VALUE for the PEs; VAR alone must be set already")
      ->allow_extra_args(false);
  app.add_option("--bind-to", chosen.bind,
                 "core: one core for each PE; none (default: core if there are enough)")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, binding>{{"core", binding::core}, {"none", binding::none}}));
  app.add_option("program", chosen.command, "The program and its arguments")->required();
  app.positionals_at_end();
  app.prefix_command();
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return {std::nullopt, app.exit(e)};
  } catch (const CLI::ParseError& e) {
    app.exit(e);
    return {std::nullopt, 2};
  }
  auto rest = app.remaining();
  chosen.command.insert(chosen.command.end(), rest.begin(), rest.end());
  return {chosen, 0};
}

}  // namespace heddle::run
