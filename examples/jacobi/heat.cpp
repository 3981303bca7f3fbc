// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "heat.hpp"

#include <heddle/device/launch.hpp>

namespace {

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
    // The threads of a warp share a row: what they read together lies together.
    const int across = block.size() % 32 == 0 ? 32 : 1;
    for (int step = 0; step < steps; ++step) {
      double* now = mine.cells[step % 2];
      double* next = mine.cells[(step + 1) % 2];
      for (int r = 1 + block.rank() / across; r <= mine.rows; r += block.size() / across)
        for (int c = 1 + block.rank() % across; c + 1 < mine.width; c += across) {
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

}  // namespace

void make_steps(const heddle::stream& stream, int threads, const heddle::team& team,
                const grid& mine, int above_rows, int steps) {
  heddle::launch(stream, 1, threads, step_all{}, team.ref(), mine, above_rows, steps);
}
