// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// What libfabric itself does between two hosts, with one provider: RMA writes alone.
//   fabric_write_flag   8 bytes one way, seen in memory: half a ping-pong
//   fabric_write        each 1 MiB write, with 16 under way
//   fabric_rate         each 8-byte write, with 64 under way
// Every write has its completion taken. And without libfabric:
//   tcp_wake            8 bytes to a process that sleeps in poll(), and back
#include <CLI/CLI.hpp>
#include <cstring>

#include "../program.hpp"
#include "fabric_pair.hpp"

namespace {

using bench::bare::fabric_pair;

/// Words and data of the exposed memory.
constexpr std::size_t ping = 0;
constexpr std::size_t data = 4096;

void set_flag(fabric_pair& pair, std::uint64_t value) {
  std::memcpy(pair.source() + ping, &value, sizeof value);
  pair.write(ping, sizeof value);
  pair.complete(0);
}

void round_trips(fabric_pair& pair, std::uint64_t& last, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) {
    ++last;
    if (pair.me() == 0) set_flag(pair, last);
    pair.wait_for(ping, last);
    if (pair.me() == 1) set_flag(pair, last);
  }
}

/// From process 0; the other makes progress until it is told, and answers.
void stream(fabric_pair& pair, std::uint64_t& last, std::size_t bytes, std::size_t window,
            std::uint64_t n) {
  for (std::uint64_t i = 0; pair.me() == 0 && i < n; ++i) {
    pair.complete(window - 1);
    pair.write(data + i % window * bytes, bytes);
  }
  pair.complete(0);
  round_trips(pair, last, 1);
}

}  // namespace

int main(int argc, char** argv) {
  std::string provider = "tcp;ofi_rxm";
  bool delivery = false;
  bench::effort effort;
  CLI::App app("bare libfabric between two hosts");
  app.add_option("--provider", provider, "as fi_info -l names it");
  app.add_flag("--delivery", delivery, "completions that say that the data is visible");
  app.add_option("--batch-us", effort.batch_us, "length of one timed batch");
  app.add_option("--batches", effort.batches, "timed batches (median)")->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);

  return bench::run_program("fabric_loop", [&] {
    constexpr std::size_t big = 1 << 20;
    constexpr std::size_t big_window = 16;
    constexpr std::size_t small_window = 64;
    bench::bare::host_link link;
    bench::report_binding(link.me());
    fabric_pair pair(link, provider, data + big_window * big, delivery);
    std::uint64_t last = 0;
    const auto agree = [&](double x) { return link.agree(x); };
    const auto measure = [&](const char* what, std::size_t bytes, double parts, auto run) {
      const double us = bench::time_per_iteration(run, agree, effort) / parts;
      if (pair.me() == 0) bench::report(what, provider + (delivery ? " delivery" : ""), bytes, us);
    };
    measure("fabric_write_flag", 8, 2, [&](std::uint64_t n) { round_trips(pair, last, n); });
    measure("fabric_write", big, big_window,
            [&](std::uint64_t n) { stream(pair, last, big, big_window, n * big_window); });
    measure("fabric_rate", 8, small_window,
            [&](std::uint64_t n) { stream(pair, last, 8, small_window, n * small_window); });
    if (link.me() == 0) bench::report("tcp_wake", "tcp", 8, bench::time_woken([&] { link.ask(); }));
    for (int i = 0; link.me() == 1 && i < bench::woken_runs; ++i) link.answer();
  });
}
