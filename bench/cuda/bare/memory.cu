// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// How fast the whole GPU copies inside its memory: by kernels, and by CUDA's own copy.
#include "copies.cuh"

int main(int argc, char** argv) {
  return bench::run_program("gpu_bare_memory", [&] {
    const auto options = bench::gpu_options::parse(argc, argv);
    bench::copies all(options);
    int multiprocessors = 0;
    bench::check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0),
                 "cudaDeviceGetAttribute");
    const char* what = "copy by the whole GPU";
    const std::vector<std::size_t> sizes = {8 << 20, 64 << 20, 256 << 20};
    all.measure_memcpy(what, sizes);
    all.measure(what, 4 * multiprocessors, sizes);
  });
}
