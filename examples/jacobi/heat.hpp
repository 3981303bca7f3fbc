// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/stream.hpp>
#include <heddle/team.hpp>

/// A PE's rows of the two grids: a halo row above, `rows` rows, a halo row below.
struct grid {
  double* cells[2];            ///< symmetric: step s reads cells[s % 2] and writes the other
  heddle::signal* from_above;  ///< symmetric: counts the steps whose row has come from the PE above
  heddle::signal* from_below;
  int rows;      ///< of this PE; PEs differ by one, and so does the place of the halo below
  int width;     ///< columns, border included
  double ratio;  ///< dt / h^2
};

/// Enqueues all steps on `stream`, by a block of `threads`. The PE above has `above_rows` rows.
void make_steps(const heddle::stream& stream, int threads, const heddle::team& team,
                const grid& mine, int above_rows, int steps);
