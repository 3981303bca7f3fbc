// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// The heat equation u_t = u_xx + u_yy on the unit square, u = 0 on its border, from u = sin(pi x)
// sin(pi y), whose solution is u exp(-2 pi^2 t). Rows are divided among the PEs; one kernel makes
// all steps and exchanges the border rows itself, by put_signal into its neighbours' halos.
//
//     heddle-run -n 4 jacobi --n 256 --steps 200

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <heddle/device/launch.hpp>
#include <heddle/heddle.hpp>
#include <numbers>
#include <vector>

namespace {

/// A PE's rows of one of the two grids: a halo row above, `rows` rows, a halo row below.
struct grid {
  double* cells[2];            ///< symmetric: step s reads cells[s % 2] and writes the other
  heddle::signal* from_above;  ///< symmetric: counts the steps whose row has come from the PE above
  heddle::signal* from_below;
  int rows;  ///< of this PE; differs by one between PEs, so the halo's place is max_rows + 1
  int max_rows;
  int width;     ///< columns, border included
  double ratio;  ///< dt / h^2
};

struct step_all {
  template <heddle::block_group Block>
  HEDDLE_FN void operator()(Block block, heddle::team_ref team, grid mine, int above_rows,
                            int steps) const {
    const int up = team.my_pe() - 1;
    const int down = team.my_pe() + 1 < team.n_pes() ? team.my_pe() + 1 : -1;
    const auto row = [&](double* cells, int r) {
      return cells + static_cast<heddle::size_t>(r) * static_cast<heddle::size_t>(mine.width);
    };
    const auto width = static_cast<heddle::size_t>(mine.width);
    for (int step = 0; step < steps; ++step) {
      double* now = mine.cells[step % 2];
      double* next = mine.cells[(step + 1) % 2];
      for (int r = 1 + block.rank(); r <= mine.rows; r += block.size())
        for (int c = 1; c + 1 < mine.width; ++c) {
          const double* at = row(now, r) + c;
          row(next, r)[c] =
              at[0] + mine.ratio * (at[-1] + at[1] + at[-mine.width] + at[mine.width] - 4 * at[0]);
        }
      block.sync();
      // My first row is the lower halo of the PE above (row above_rows + 1 there), my last the
      // upper halo of the PE below (row 0). A neighbour is at most one step ahead: it needs my rows
      // of this step for its next, so what it still reads (the other grid) is not what is written
      // here.
      const auto done = static_cast<heddle::signal>(step) + 1;
      if (up >= 0)
        team.put_signal(block, row(next, above_rows + 1), row(next, 1), width, mine.from_below,
                        done, heddle::signal_op::set, up);
      if (down >= 0)
        team.put_signal(block, next, row(next, mine.rows), width, mine.from_above, done,
                        heddle::signal_op::set, down);
      // A wait that fails has aborted the team: all PEs leave, and the host reports why.
      if (up >= 0 &&
          team.wait_until(block, mine.from_above, heddle::cmp::ge, done) != heddle::wait_status::ok)
        return;
      if (down >= 0 &&
          team.wait_until(block, mine.from_below, heddle::cmp::ge, done) != heddle::wait_status::ok)
        return;
    }
  }
};

struct options {
  int n = 128;
  int steps = 100;
  int threads = 1;
};

/// The inner rows of PE `pe`.
int rows_of(int pe, int n_pes, int inner) { return inner * (pe + 1) / n_pes - inner * pe / n_pes; }

int run(const options& chosen) {
  const heddle::runtime runtime;
  const auto world = runtime.world();
  const int me = world.my_pe();
  const int inner = chosen.n - 1;
  if (inner < world.n_pes())
    throw std::runtime_error(
        fmt::format("{} inner rows are too few for {} PEs", inner, world.n_pes()));
  const double h = 1.0 / chosen.n;
  const double dt = 0.2 * h * h;

  grid mine{};
  mine.rows = rows_of(me, world.n_pes(), inner);
  mine.max_rows = (inner + world.n_pes() - 1) / world.n_pes();
  mine.width = chosen.n + 1;
  mine.ratio = dt / (h * h);
  const auto cells =
      static_cast<std::size_t>(mine.max_rows + 2) * static_cast<std::size_t>(mine.width);
  heddle::symmetric_array<double> first(runtime, cells);
  heddle::symmetric_array<double> second(runtime, cells);
  heddle::symmetric_array<heddle::signal> signals(runtime, 2);
  mine.cells[0] = first.data();
  mine.cells[1] = second.data();
  mine.from_above = signals.data();
  mine.from_below = signals.data() + 1;

  const int first_row = inner * me / world.n_pes();  // inner rows above mine
  const auto start = [&](int row, int column) {
    return std::sin(std::numbers::pi * row * h) * std::sin(std::numbers::pi * column * h);
  };
  for (int r = 0; r <= mine.rows + 1; ++r)
    for (int c = 1; c < chosen.n; ++c)
      first[static_cast<std::size_t>(r) * static_cast<std::size_t>(mine.width) +
            static_cast<std::size_t>(c)] = start(first_row + r, c);
  world.barrier();

  const int above_rows = me > 0 ? rows_of(me - 1, world.n_pes(), inner) : 0;
  heddle::launch(runtime.default_stream(), 1, chosen.threads, step_all{}, world.ref(), mine,
                 above_rows, chosen.steps);
  world.check_status();

  const double* result = mine.cells[chosen.steps % 2];
  const double decay = std::exp(-2 * std::numbers::pi * std::numbers::pi * dt * chosen.steps);
  double error = 0;
  for (int r = 1; r <= mine.rows; ++r)
    for (int c = 1; c < chosen.n; ++c)
      error =
          std::max(error, std::abs(result[r * mine.width + c] - decay * start(first_row + r, c)));
  double most = 0;
  world.all_reduce(&error, &most, 1, heddle::op::max);
  // |u_xxxx| <= pi^4 gives a truncation error below (pi^4 / 6 + pi^4 * 0.4) h^2 per unit of time;
  // the bound is loose.
  const double time = dt * chosen.steps;
  const double bound = 60.0 * h * h * time + 1e-12;
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
  app.add_option("--threads", chosen.threads, "threads of the block")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    return run(chosen);
  } catch (const std::exception& failure) {
    fmt::print(stderr, "jacobi: {}\n", failure.what());
    return 1;
  }
}
