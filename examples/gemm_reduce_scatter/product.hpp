// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <heddle/stream.hpp>
#include <heddle/team.hpp>

/// C = sum over the PEs of A B, of which each PE has A (m x k) and B (k x n), all by rows, and gets
/// its m / n_pes rows of C: a layer of a network that is cut along what it sums over.
struct product {
  static constexpr int tile = 64;  ///< rows and columns of what is computed at a time

  const float* a;
  const float* b;
  int m;  ///< a multiple of tile * n_pes
  int n;  ///< of tile
  int k;
};

/// Where the fused product's tiles meet, symmetric but for the own part.
struct meeting_place {
  float* tiles;           ///< two halves, used in turns, each a piece of C from every PE
  heddle::signal* ready;  ///< by PE and tile of this PE's piece: the calls of which it has come
  float* own;             ///< a tile for each block
};

/// A grid, as all its blocks must be resident.
struct grid_shape {
  int blocks;
  int threads;
};

/// All of A B into `partial` (m x n): what a ReduceScatter combines.
void multiply(const heddle::stream& stream, grid_shape shape, const product& what, float* partial);

/// A B and the ReduceScatter in one kernel: every tile goes to its owner as soon as it is computed,
/// while the next is. `call` counts the calls, from 0, on every PE alike.
void multiply_and_scatter(const heddle::stream& stream, grid_shape shape, const heddle::team& team,
                          const product& what, const meeting_place& where, int call, float* piece);
