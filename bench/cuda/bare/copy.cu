// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// How fast a kernel of so many blocks copies inside the GPU's memory: what no put of that grid can
// beat.
#include "copies.cuh"

int main(int argc, char** argv) {
  return bench::run_program("gpu_bare_copy", [&] {
    const auto options = bench::gpu_options::parse(argc, argv);
    bench::copies all(options);
    for (const int blocks : bench::bandwidth_blocks)
      all.measure(bench::blocks_name("put", blocks), blocks, bench::bandwidth_sizes(blocks));
  });
}
