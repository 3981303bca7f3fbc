// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// The heat equation u_t = u_xx + u_yy on the unit square, u = 0 on its border, from u = sin(pi x)
// sin(pi y), which every step multiplies by the same factor: what comes out is known but for
// rounding. Rows are divided among the PEs; one kernel makes all steps and exchanges the border
// rows itself, by put_signal into its neighbours' halos (heat.cpp). On whichever device: the host
// copies the start there and the result back.
//
//     heddle-run -n 4 jacobi --n 256 --steps 200

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <heddle/heddle.hpp>
#include <limits>
#include <numbers>
#include <vector>

#include "heat.hpp"

namespace {

struct options {
  int n = 128;
  int steps = 100;
  int threads = 0;
};

/// The inner rows of PE `pe`.
int rows_of(int pe, int n_pes, int inner) { return inner * (pe + 1) / n_pes - inner * pe / n_pes; }

/// What is not a number is as far away as can be.
double distance(double a, double b) {
  const double apart = std::abs(a - b);
  return std::isnan(apart) ? std::numeric_limits<double>::infinity() : apart;
}

int run(const options& chosen) {
  const heddle::runtime runtime;
  const auto world = runtime.world();
  const int me = world.my_pe();
  const int inner = chosen.n - 1;
  if (inner < world.n_pes())
    throw std::runtime_error(
        fmt::format("{} inner rows are too few for {} PEs", inner, world.n_pes()));
  const double h = 1.0 / chosen.n;

  grid mine{};
  mine.rows = rows_of(me, world.n_pes(), inner);
  mine.width = chosen.n + 1;
  mine.ratio = 0.2;
  const int most_rows = (inner + world.n_pes() - 1) / world.n_pes();
  const auto cells = static_cast<std::size_t>(most_rows + 2) * static_cast<std::size_t>(mine.width);
  heddle::symmetric_array<double> first(runtime, cells);
  heddle::symmetric_array<double> second(runtime, cells);
  heddle::symmetric_array<heddle::signal> signals(runtime, 2);
  mine.cells[0] = first.data();
  mine.cells[1] = second.data();
  mine.from_above = signals.data();
  mine.from_below = signals.data() + 1;

  const auto stream = runtime.default_stream();
  const int first_row = inner * me / world.n_pes();  // inner rows above mine
  const auto start = [&](int row, int column) {
    return std::sin(std::numbers::pi * row * h) * std::sin(std::numbers::pi * column * h);
  };
  std::vector<double> values(cells);
  const auto value_at = [&](int row, int column) -> double& {
    return values[static_cast<std::size_t>(row) * static_cast<std::size_t>(mine.width) +
                  static_cast<std::size_t>(column)];
  };
  for (int r = 0; r <= mine.rows + 1; ++r)
    for (int c = 1; c < chosen.n; ++c) value_at(r, c) = start(first_row + r, c);
  stream.copy(first.data(), values.data(), cells);
  stream.synchronize();
  world.barrier();

  const int above_rows = me > 0 ? rows_of(me - 1, world.n_pes(), inner) : 0;
  const int threads = chosen.threads > 0 ? chosen.threads : runtime.device() == "host" ? 1 : 256;
  make_steps(stream, threads, world, mine, above_rows, chosen.steps);
  stream.copy(values.data(), mine.cells[chosen.steps % 2], cells);
  stream.synchronize();
  world.check_status();

  // The start is an eigenvector of the scheme.
  const double sine = std::sin(std::numbers::pi * h / 2);
  const double decay = std::pow(1 - 8 * mine.ratio * sine * sine, chosen.steps);
  double error = 0;
  for (int r = 1; r <= mine.rows; ++r)
    for (int c = 1; c < chosen.n; ++c)
      error = std::max(error, distance(value_at(r, c), decay * start(first_row + r, c)));
  const heddle::device_array<double> most_of_all(runtime, 1);
  double most = 0;
  stream.copy(most_of_all.data(), &error, 1);
  world.all_reduce(most_of_all.data(), most_of_all.data(), 1, heddle::op::max);
  stream.copy(&most, most_of_all.data(), 1);
  stream.synchronize();
  // A step rounds a few times, and makes no error larger.
  const double bound = 10 * std::numeric_limits<double>::epsilon() * (chosen.steps + 1);
  if (me == 0)
    fmt::print("{0} x {0} cells, {1} steps on {2} PEs: largest error {3:.2e}, bound {4:.2e}: {5}\n",
               chosen.n, chosen.steps, world.n_pes(), most, bound,
               most <= bound ? "right" : "WRONG");
  return most <= bound ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  options chosen;
  CLI::App app("Solves the heat equation with halo exchange from inside the kernel.");
  app.add_option("--n", chosen.n, "cells along a side")
      ->check(CLI::Range(2, 16384))
      ->capture_default_str();
  app.add_option("--steps", chosen.steps)->check(CLI::Range(1, 10'000'000))->capture_default_str();
  app.add_option("--threads", chosen.threads,
                 "threads of the block; 0: 1 on the host, 256 on a GPU")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    return run(chosen);
  } catch (const std::exception& failure) {
    fmt::print(stderr, "jacobi: {}\n", failure.what());
    return 1;
  }
}
