// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "page.hpp"
#include "read_files.hpp"
#include "whole_file.hpp"

namespace perf::report {

int run_command(int argc, char** argv) {
  CLI::App app(
      "Makes one HTML page, which needs no other file, with curves and tables of what heddle-perf "
      "--json and bench/run.py wrote.",
      "heddle-perf report");
  std::vector<std::string> files;
  std::string output = "report.html";
  app.add_option("FILE", files, "JSON of heddle-perf --json or bench/run.py")->required();
  app.add_option("-o,--output", output, "the page")->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    return app.exit(problem) == 0 ? 0 : 2;
  }
  try {
    const auto sections = read_files(files);
    for (const auto& each : files) {
      std::error_code different;
      if (std::filesystem::equivalent(each, output, different))
        throw std::runtime_error(fmt::format("-o {} would replace the measurements", output));
    }
    write_whole(output, make_page(sections));
  } catch (const std::exception& failure) {
    fmt::print(stderr, "heddle-perf report: {}\n", failure.what());
    return 1;
  }
  fmt::print("written to {}\n", output);
  return 0;
}

}  // namespace perf::report
