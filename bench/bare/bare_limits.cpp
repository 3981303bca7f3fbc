// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// What two processes on one machine can do with shared memory and nothing else: no library, not
// even heddle. The limit that heddle is measured against.
#include "../all_reduce_sweep.hpp"
#include "../collective_sweep.hpp"
#include "../put_sweep.hpp"
#include "all_reduce.hpp"
#include "collective.hpp"
#include "copy.hpp"

using namespace bench;

namespace {

void ping_pongs(bare::pair& pair, const options& options) {
  const auto methods = bare::copy_methods();
  bare::copier copier(pair, methods.front());
  time_ping_pong(copier, "flag", "bare", 8, options,
                 [&](std::uint64_t n) { copier.flag_round_trips(n); });
  time_ping_pong(copier, "payload_one_line", "bare", 8, options,
                 [&](std::uint64_t n) { copier.payload_round_trips(n, true); });
  time_ping_pong(copier, "payload_two_lines", "bare", 8, options,
                 [&](std::uint64_t n) { copier.payload_round_trips(n, false); });
}

void copies(bare::pair& pair, const options& options) {
  for (const auto& method : bare::copy_methods()) {
    bare::copier copier(pair, method);
    sweep_puts(copier, method.name, options);
  }
}

/// Size by size, all variants: a variant must not lose for where the processors were meanwhile.
void all_reduces(bare::pair& pair, const options& options) {
  std::uint64_t epoch = 0;
  for (const std::size_t bytes : options.sizes())
    for (const auto& algorithm : bare::algorithms()) {
      if (bytes < algorithm.min_bytes || bytes > algorithm.max_bytes) continue;
      for (const bare::kernels* kernels : bare::usable_kernels()) {
        bare::contender contender(pair, algorithm, *kernels, epoch);
        all_reduce_sweep sweep(contender);
        measure_all_reduce(sweep, pair.me(), algorithm.name + " " + kernels->name, bytes, options);
      }
    }
}

void other_collectives(bare::pair& pair, const options& options) {
  std::uint64_t epoch = 0;
  for (const bare::kernels* kernels : bare::usable_kernels())
    for (const bool streaming : {false, true}) {
      bare::collectives contender(pair, *kernels, streaming, epoch);
      sweep_collectives(contender, std::string(streaming ? "streaming " : "") + kernels->name,
                        options);
    }
}

}  // namespace

int main(int argc, char** argv) {
  std::string part = argc > 1 ? argv[1] : "";
  const auto parts = {"flag", "copy", "all_reduce", "collectives"};
  if (std::find(parts.begin(), parts.end(), part) == parts.end()) {
    std::fprintf(
        stderr,
        "bare_limits: say what to measure: flag, copy, all_reduce or collectives [options]\n");
    return 2;
  }
  const auto options = bench::options::parse(argc - 1, argv + 1, "bare limits of two processes");
  return run_program("bare_limits", [&] {
    const std::size_t capacity = options.max_bytes / sizeof(float) + control_elements;
    bare::run_pair(capacity, [&](bare::pair& pair) {
      report_binding(pair.me());
      if (part == "flag") ping_pongs(pair, options);
      if (part == "copy") copies(pair, options);
      if (part == "all_reduce") all_reduces(pair, options);
      if (part == "collectives") other_collectives(pair, options);
    });
  });
}
