// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "product.hpp"

#include <heddle/device/launch.hpp>

namespace {

using heddle::size_t;
constexpr int tile = product::tile;
constexpr size_t tile_elements = static_cast<size_t>(tile) * tile;

/// The tile at (row, column) of A B, whose rows are `stride` apart in `out`, by all threads of the
/// block: each has parts of 4 x 8 in registers.
template <heddle::block_group Block>
HEDDLE_FN void compute_tile(Block block, const product& what, int row, int column, float* out,
                            int stride) {
  constexpr int rows = 4;
  constexpr int columns = 8;
  constexpr int across = tile / columns;
  for (int part = block.rank(); part < tile / rows * across; part += block.size()) {
    const int first_row = part / across * rows;
    const int first_column = part % across * columns;
    const float* a = what.a + static_cast<size_t>(row + first_row) * static_cast<size_t>(what.k);
    const float* b = what.b + column + first_column;
    float sum[rows][columns] = {};
    for (int i = 0; i < what.k; ++i, b += what.n)
      for (int r = 0; r < rows; ++r) {
        const float left = a[static_cast<size_t>(r) * static_cast<size_t>(what.k) + i];
        for (int c = 0; c < columns; ++c) sum[r][c] += left * b[c];
      }
    float* to = out + static_cast<size_t>(first_row) * static_cast<size_t>(stride) + first_column;
    for (int r = 0; r < rows; ++r, to += stride)
      for (int c = 0; c < columns; ++c) to[c] = sum[r][c];
  }
}

struct multiply_all {
  template <heddle::block_group Block>
  HEDDLE_FN void operator()(Block block, product what, float* partial) const {
    const int across = what.n / tile;
    const int tiles = what.m / tile * across;
    for (int t = block.block_rank(); t < tiles; t += block.num_blocks()) {
      const int row = t / across * tile;
      const int column = t % across * tile;
      compute_tile(block, what, row, column,
                   partial + static_cast<size_t>(row) * static_cast<size_t>(what.n) + column,
                   what.n);
    }
  }
};

struct multiply_and_send {
  template <heddle::block_group Block>
  HEDDLE_FN void operator()(Block block, heddle::team_ref team, product what, meeting_place where,
                            int call, float* piece) const {
    const int n_pes = team.n_pes();
    const int across = what.n / tile;
    const int tiles_of_pe = what.m / n_pes / tile * across;
    // A PE that computes call + 2 has everybody's tiles of call + 1, hence all are through with
    // call.
    float* half = where.tiles + static_cast<size_t>(call % 2 * n_pes * tiles_of_pe) * tile_elements;
    const auto place = [&](int from, int t) {
      return half + static_cast<size_t>(from * tiles_of_pe + t) * tile_elements;
    };

    const auto arrived = [&](int from, int t) { return where.ready + from * tiles_of_pe + t; };
    const auto done = static_cast<heddle::signal>(call) + 1;

    // The others' first, from the next PE on, so that not all send to one.
    float* own = where.own + static_cast<size_t>(block.block_rank()) * tile_elements;
    for (int i = block.block_rank(); i < n_pes * tiles_of_pe; i += block.num_blocks()) {
      const int pe = (team.my_pe() + 1 + i / tiles_of_pe) % n_pes;
      const int t = i % tiles_of_pe;
      const int row = pe * (what.m / n_pes) + t / across * tile;
      float* to = pe == team.my_pe() ? place(pe, t) : own;
      compute_tile(block, what, row, t % across * tile, to, tile);
      block.sync();
      if (pe == team.my_pe())
        team.update_signal(block, arrived(pe, t), done, heddle::signal_op::set, pe);
      else
        team.put_signal(block, place(team.my_pe(), t), own, tile_elements, arrived(team.my_pe(), t),
                        done, heddle::signal_op::set, pe);
    }

    for (int t = block.block_rank(); t < tiles_of_pe; t += block.num_blocks()) {
      // A wait that fails has aborted the team: all PEs leave, and the host reports why.
      for (int pe = 0; pe < n_pes; ++pe)
        if (team.wait_until(block, arrived(pe, t), heddle::cmp::ge, done) !=
            heddle::wait_status::ok)
          return;
      float* out = piece + static_cast<size_t>(t / across * tile) * static_cast<size_t>(what.n) +
                   t % across * tile;
      for (int e = block.rank(); e < tile * tile; e += block.size()) {
        float sum = 0;
        for (int pe = 0; pe < n_pes; ++pe) sum += place(pe, t)[e];
        out[static_cast<size_t>(e / tile) * static_cast<size_t>(what.n) + e % tile] = sum;
      }
    }
  }
};

}  // namespace

void multiply(const heddle::stream& stream, grid_shape shape, const product& what, float* partial) {
  heddle::launch(stream, shape.blocks, shape.threads, multiply_all{}, what, partial);
}

void multiply_and_scatter(const heddle::stream& stream, grid_shape shape, const heddle::team& team,
                          const product& what, const meeting_place& where, int call, float* piece) {
  heddle::launch(stream, shape.blocks, shape.threads, multiply_and_send{}, team.ref(), what, where,
                 call, piece);
}
