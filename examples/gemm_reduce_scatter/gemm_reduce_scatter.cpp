// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// A matrix product whose inner dimension is divided among the PEs, each of which gets its rows of
// the sum: once as a product and then a ReduceScatter, and once as one kernel that sends each tile
// when it is ready (product.cpp). The elements are small integers, so that both must be exact.
//
//     heddle-run -n 4 gemm_reduce_scatter --m 512 --n 512 --k 512

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <functional>
#include <heddle/device_array.hpp>
#include <heddle/heddle.hpp>
#include <vector>

#include "product.hpp"

namespace {

struct options {
  int m = 512;
  int n = 512;
  int k = 512;
  int repeats = 9;
  int blocks = 0;
  int threads = 0;
};

using clock_type = std::chrono::steady_clock;

/// -4 to 4, of matrix `which` of a PE.
float element(int which, int pe, int row, int column) {
  const unsigned mixed =
      static_cast<unsigned>(which + 1) * 2654435761u ^ static_cast<unsigned>(pe + 1) * 40503u ^
      static_cast<unsigned>(row) * 69069u ^ static_cast<unsigned>(column) * 1597334677u;
  return static_cast<float>(static_cast<int>((mixed ^ mixed >> 15) % 9u) - 4);
}

std::vector<float> matrix(int which, int pe, int rows, int columns) {
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c) values.push_back(element(which, pe, r, c));
  return values;
}

/// Rows [first, first + rows) of the sum over all PEs, by the plainest of loops.
std::vector<float> expected_rows(const options& chosen, int n_pes, int first, int rows) {
  const auto n = static_cast<std::size_t>(chosen.n);
  std::vector<float> sum(static_cast<std::size_t>(rows) * n);
  for (int pe = 0; pe < n_pes; ++pe) {
    const auto b = matrix(1, pe, chosen.k, chosen.n);
    for (int r = 0; r < rows; ++r)
      for (int i = 0; i < chosen.k; ++i) {
        const float a = element(0, pe, first + r, i);
        for (std::size_t c = 0; c < n; ++c)
          sum[static_cast<std::size_t>(r) * n + c] += a * b[static_cast<std::size_t>(i) * n + c];
      }
  }
  return sum;
}

/// The median of some calls, which all PEs begin together, in milliseconds.
double time_of(const heddle::team& world, const heddle::stream& stream, int repeats,
               const std::function<void()>& call) {
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) {
    world.barrier();
    const auto start = clock_type::now();
    call();
    stream.synchronize();
    times.push_back(std::chrono::duration<double, std::milli>(clock_type::now() - start).count());
  }
  std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
  return times[static_cast<std::size_t>(repeats / 2)];
}

void require_sizes(const options& chosen, int n_pes) {
  if (chosen.m % (product::tile * n_pes) != 0 || chosen.n % product::tile != 0)
    throw std::runtime_error(fmt::format(
        "--m {} must be a multiple of {} ({} for each of {} PEs), and --n {} of {}", chosen.m,
        product::tile * n_pes, product::tile, n_pes, chosen.n, product::tile));
}

int run(const options& chosen) {
  const heddle::runtime runtime;
  const auto world = runtime.world();
  const auto stream = runtime.default_stream();
  const int me = world.my_pe();
  const int n_pes = world.n_pes();
  require_sizes(chosen, n_pes);
  const bool on_host = runtime.device() == "host";
  const grid_shape shape = {chosen.blocks > 0 ? chosen.blocks
                            : on_host         ? 1
                                              : 64,
                            chosen.threads > 0 ? chosen.threads
                            : on_host          ? 1
                                               : 128};
  const int rows = chosen.m / n_pes;
  const auto piece_elements = static_cast<std::size_t>(rows) * static_cast<std::size_t>(chosen.n);
  const auto pes = static_cast<std::size_t>(n_pes);

  const auto a = matrix(0, me, chosen.m, chosen.k);
  const auto b = matrix(1, me, chosen.k, chosen.n);
  const heddle::device_array<float> a_there(runtime, a.size());
  const heddle::device_array<float> b_there(runtime, b.size());
  stream.copy(a_there.data(), a.data(), a.size());
  stream.copy(b_there.data(), b.data(), b.size());
  const product what = {a_there.data(), b_there.data(), chosen.m, chosen.n, chosen.k};

  constexpr auto tile_elements = static_cast<std::size_t>(product::tile) * product::tile;
  heddle::symmetric_array<float> partial(runtime, pes * piece_elements);
  heddle::symmetric_array<float> tiles(runtime, 2 * pes * piece_elements);
  heddle::symmetric_array<heddle::signal> ready(runtime, pes * piece_elements / tile_elements);
  const heddle::device_array<float> own(runtime,
                                        static_cast<std::size_t>(shape.blocks) * tile_elements);
  heddle::symmetric_array<float> piece(runtime, piece_elements);
  const meeting_place where = {tiles.data(), ready.data(), own.data()};

  const auto expected = expected_rows(chosen, n_pes, rows * me, rows);
  const auto is_right = [&](float sign) {
    std::vector<float> got(piece_elements);
    stream.copy(got.data(), piece.data(), got.size());
    const std::vector<float> nothing(piece_elements, -1.0f);
    stream.copy(piece.data(), nothing.data(), nothing.size());
    stream.synchronize();
    return std::equal(got.begin(), got.end(), expected.begin(),
                      [=](float x, float y) { return x == sign * y; });
  };
  const double product_alone = time_of(world, stream, chosen.repeats,
                                       [&] { multiply(stream, shape, what, partial.data()); });
  const double apart = time_of(world, stream, chosen.repeats, [&] {
    multiply(stream, shape, what, partial.data());
    world.reduce_scatter(partial.data(), piece.data(), piece_elements, heddle::op::sum);
  });
  const bool plain_is_right = is_right(1);
  int call = 0;
  const double fused = time_of(world, stream, chosen.repeats, [&] {
    multiply_and_scatter(stream, shape, world, what, where, call++, piece.data());
  });
  bool fused_is_right = is_right(1);
  // And again, without anything between the calls that would keep the PEs together. Every two calls
  // the sign of A changes: who does not wait for a tile takes that of two calls before, and is
  // wrong.
  auto negative = a;
  for (float& x : negative) x = -x;
  const heddle::device_array<float> negative_there(runtime, a.size());
  stream.copy(negative_there.data(), negative.data(), a.size());
  for (int i = 0; i < chosen.repeats; ++i, ++call) {
    const bool is_negative = call / 2 % 2 != 0;
    product now = what;
    if (is_negative) now.a = negative_there.data();
    multiply_and_scatter(stream, shape, world, now, where, call, piece.data());
    fused_is_right &= is_right(is_negative ? -1 : 1);
  }
  world.check_status();

  // Every PE's verdict, and the slowest PE's times.
  const heddle::device_array<double> figures_there(runtime, 4);
  double figures[4] = {product_alone, apart, fused, plain_is_right && fused_is_right ? 0.0 : 1.0};
  stream.copy(figures_there.data(), figures, 4);
  world.all_reduce(figures_there.data(), figures_there.data(), 4, heddle::op::max);
  stream.copy(figures, figures_there.data(), 4);
  stream.synchronize();
  const bool right = figures[3] == 0;
  if (me == 0)
    fmt::print(
        "{} x {} x {} on {} PEs: the product alone {:.3f} ms, then reduce_scatter {:.3f} ms, in "
        "one kernel {:.3f} ms: {}\n",
        chosen.m, chosen.n, chosen.k * n_pes, n_pes, figures[0], figures[1], figures[2],
        right ? "both right" : "WRONG");
  if (!right)
    fmt::print(stderr, "PE {}: apart {}, in one kernel {}\n", me,
               plain_is_right ? "right" : "wrong", fused_is_right ? "right" : "wrong");
  return right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  options chosen;
  CLI::App app("A matrix product and a ReduceScatter, one after the other and in one kernel.");
  app.add_option("--m", chosen.m, "rows of A and of the sum")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  app.add_option("--n", chosen.n, "columns of B")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  app.add_option("--k", chosen.k, "columns of each PE's A")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  app.add_option("--repeats", chosen.repeats)->check(CLI::Range(1, 100'000))->capture_default_str();
  app.add_option("--blocks", chosen.blocks, "0: 1 on the host, 64 on a GPU")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  app.add_option("--threads", chosen.threads, "threads of a block; 0: 1 on the host, 128 on a GPU")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    return run(chosen);
  } catch (const std::exception& failure) {
    fmt::print(stderr, "gemm_reduce_scatter: {}\n", failure.what());
    return 1;
  }
}
