// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "program.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>

namespace bench {

options options::parse(int argc, char** argv, const std::string& description) {
  options result;
  CLI::App app(description);
  app.add_option("--min", result.min_bytes, "smallest size in bytes")
      ->check(CLI::Range(8, 1 << 30));
  app.add_option("--max", result.max_bytes, "largest size in bytes")->check(CLI::Range(8, 1 << 30));
  app.add_option("--step", result.step, "factor from one size to the next")
      ->check(CLI::Range(2, 1 << 20));
  app.add_option("--sizes", result.listed, "these sizes in bytes instead")
      ->check(CLI::Range(8, 1 << 30));
  app.add_option("--batch-us", result.measure.batch_us, "length of one timed batch");
  app.add_option("--batches", result.measure.batches, "timed batches a size (median)")
      ->check(CLI::Range(1, 1000));
  app.add_flag("--fresh", result.fresh,
               "rewrite the whole input and read the whole output between calls (untimed)");
  app.add_option("--collective", result.collectives,
                 "these alone, of a program that measures several");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  if (!result.listed.empty()) {
    std::sort(result.listed.begin(), result.listed.end());
    result.min_bytes = result.listed.front();
    result.max_bytes = result.listed.back();
  }
  return result;
}

}  // namespace bench
