// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <fmt/format.h>
#include <heddle/heddle.h>

#include <CLI/CLI.hpp>
#include <map>
#include <string_view>

namespace heddle::run {

namespace {

/// Seconds as a clock can hold them.
std::string check_seconds(const std::string& text) {
  double seconds = 0;
  if (CLI::detail::lexical_cast(text, seconds) && seconds >= 0 && seconds <= 1e9) return {};
  return "must be a number of seconds from 0 to 1e9, not " + text;
}

/// CLI11 would take 010 for 8, and 0x2.
std::string check_decimal(const std::string& text) {
  const bool is_decimal = !text.empty() && text.front() != '0' &&
                          text.find_first_not_of("0123456789") == std::string::npos;
  return is_decimal ? std::string() : "must be a decimal number from 1 to 65536, not " + text;
}

std::string check_variable(const std::string& text) {
  return text.empty() || text.front() == '=' ? "names no variable: " + text : std::string();
}

/// The arguments that are heddle-run's own: all before the program, with --np for -np, as mpirun
/// takes it. Throws for an option that there is not; what follows the program is the program's,
/// whatever it looks like.
std::vector<const char*> own_arguments(const CLI::App& app, int argc, char** argv) {
  std::vector<const char*> own(argv, argv + 1);
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i] == std::string_view("-np") ? "--np" : argv[i];
    if (argument.size() < 2 || argument[0] != '-' || argument == "--") break;
    const bool is_long = argument[1] == '-';
    const auto name = is_long ? argument.substr(0, argument.find('=')) : argument.substr(0, 2);
    const CLI::Option* option = app.get_option_no_throw(name);
    if (!option) throw CLI::ExtrasError("heddle-run", {argument});
    own.push_back(argument == "--np" ? "--np" : argv[i]);
    const bool takes_next = option->get_items_expected_max() > 0 && argument == name;
    if (takes_next && i + 1 < argc) own.push_back(argv[++i]);
  }
  return own;
}

}  // namespace

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
      ->check(check_decimal)
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  app.add_flag("--tag-output", chosen.tag_output, "Begin each line of output with [PE]");
  app.add_flag("--keep-going", chosen.keep_going, "Let the other PEs run on when one fails");
  app.add_option("--timeout", chosen.timeout, "End the job after so many seconds; 0: never")
      ->check(check_seconds);
  app.add_option("--grace", chosen.grace, "Seconds from SIGTERM to SIGKILL when the job is ended")
      ->check(check_seconds)
      ->capture_default_str();
  app.add_option("-x", chosen.exports, "Set VAR=VALUE for the PEs; VAR alone must be set already")
      ->check(check_variable)
      ->allow_extra_args(false);
  app.add_option("--bind-to", chosen.bind,
                 "core: one core for each PE; none (default: core if there are enough)")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, binding>{{"core", binding::core}, {"none", binding::none}}));
  app.add_option("program", chosen.command, "The program and its arguments");  // for --help
  try {
    const auto own = own_arguments(app, argc, argv);
    app.parse(static_cast<int>(own.size()), own.data());
    chosen.command.assign(argv + own.size(), argv + argc);
    if (!chosen.command.empty() && chosen.command.front() == "--")
      chosen.command.erase(chosen.command.begin());
    if (chosen.command.empty()) throw CLI::RequiredError("program");
  } catch (const CLI::Success& e) {
    return {std::nullopt, app.exit(e)};
  } catch (const CLI::ParseError& e) {
    app.exit(e);
    return {std::nullopt, 2};
  }
  return {chosen, 0};
}

}  // namespace heddle::run
