// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// How fast the threads of a grid update memory: all of them one word, or each its own.
#include <cuda/atomic>

#include "../atomic_grid.hpp"
#include "../cuda_calls.hpp"
#include "../options.hpp"

namespace {

constexpr std::size_t all_threads =
    static_cast<std::size_t>(bench::atomic_blocks) * bench::atomic_threads;

using word_ref = cuda::atomic_ref<std::uint64_t, cuda::thread_scope_system>;

/// n atomics of each thread; `stride` is 0 where all have one word.
template <bool Fetch>
__global__ void add(std::uint64_t* words, std::uint64_t* found, std::size_t stride,
                    std::uint64_t n) {
  const std::size_t thread = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const word_ref word(words[thread * stride]);
  std::uint64_t last = 0;
  for (std::uint64_t i = 0; i < n; ++i) {
    const std::uint64_t old = word.fetch_add(1, cuda::std::memory_order_relaxed);
    if constexpr (Fetch) last = old;
  }
  if constexpr (Fetch) found[thread] = last;
}

template <bool Fetch>
void measure(const char* what, const char* variant, bool one_word,
             const bench::gpu_options& options) {
  const bench::gpu_memory<std::uint64_t> words(all_threads);
  const bench::gpu_memory<std::uint64_t> found(all_threads);
  const bench::gpu_stream stream;
  std::uint64_t rounds = 0;
  const double us = bench::time_per_iteration(
      [&](std::uint64_t n) {
        rounds += n;
        add<Fetch><<<bench::atomic_blocks, bench::atomic_threads, 0, stream.get()>>>(
            words.data(), found.data(), one_word ? 0 : 1, n);
        bench::check(cudaGetLastError(), "launching the atomics");
        stream.synchronize();
      },
      [](double x) { return x; }, options.measure);
  std::vector<std::uint64_t> counted(one_word ? 1 : all_threads);
  bench::check(cudaMemcpy(counted.data(), words.data(), counted.size() * sizeof counted[0],
                          cudaMemcpyDeviceToHost),
               "cudaMemcpy");
  for (const std::uint64_t count : counted)
    if (count != (one_word ? rounds * all_threads : rounds))
      throw std::runtime_error(std::string(what) + ", " + variant + ": a word is " +
                               std::to_string(count));
  bench::report(what, variant, all_threads * sizeof(std::uint64_t), us);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program("gpu_bare_atomics", [&] {
    const auto options = bench::gpu_options::parse(argc, argv);
    for (const bool one_word : {true, false}) {
      const char* variant = one_word ? "one word" : "a word for each thread";
      measure<false>("atomic_add", variant, one_word, options);
      measure<true>("atomic_fetch_add", variant, one_word, options);
    }
  });
}
