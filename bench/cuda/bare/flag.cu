// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// How long a flag takes from one thread to another, of another block: what no signal can beat.
#include <cuda/atomic>
#include <optional>

#include "../cuda_calls.hpp"
#include "../options.hpp"

namespace {

/// Words of different writers, far enough apart for every cache.
struct flags {
  alignas(256) std::uint64_t word[2][32];
};

/// Side `me` of n round trips.
template <cuda::thread_scope Scope, cuda::std::memory_order Store, cuda::std::memory_order Load>
__device__ void rounds(flags* both, int me, std::uint64_t before, std::uint64_t n) {
  const cuda::atomic_ref<std::uint64_t, Scope> mine(both->word[me][0]);
  const cuda::atomic_ref<std::uint64_t, Scope> theirs(both->word[1 - me][0]);
  for (std::uint64_t i = before + 1; i <= before + n; ++i) {
    if (me == 0) theirs.store(i, Store);
    while (mine.load(Load) < i) {
    }
    if (me == 1) theirs.store(i, Store);
  }
}

using side = void (*)(flags*, int, std::uint64_t, std::uint64_t);

/// Block b is side `first` + b.
template <cuda::thread_scope Scope, cuda::std::memory_order Store, cuda::std::memory_order Load>
__global__ void exchange(flags* both, int first, std::uint64_t before, std::uint64_t n) {
  if (threadIdx.x == 0)
    rounds<Scope, Store, Load>(both, first + static_cast<int>(blockIdx.x), before, n);
}

class flag_times {
 public:
  explicit flag_times(const bench::gpu_options& options) : options_(options) {}

  /// Two blocks of one kernel, or one of each of two kernels in streams of their own, as PEs are.
  void measure(const char* variant, side kernel, bool two_kernels) {
    const auto run = [&](std::uint64_t n) {
      if (two_kernels) {
        for (int me = 0; me < 2; ++me)
          kernel<<<1, 32, 0, streams_[me].get()>>>(both_.data(), me, rounds_, n);
      } else {
        kernel<<<2, 32, 0, streams_[0].get()>>>(both_.data(), 0, rounds_, n);
      }
      bench::check(cudaGetLastError(), "launching the flag's kernel");
      for (const auto& stream : streams_) stream.synchronize();
      rounds_ += n;
    };
    const double us = bench::time_per_iteration(
        run, [](double x) { return x; }, options_.measure);
    flags seen;
    bench::check(cudaMemcpy(&seen, both_.data(), sizeof seen, cudaMemcpyDeviceToHost),
                 "cudaMemcpy");
    if (seen.word[0][0] != rounds_ || seen.word[1][0] != rounds_)
      throw std::runtime_error("the flags are not those of the last round");
    bench::report("flag", variant, 8, us / 2);
  }

 private:
  const bench::gpu_options& options_;
  bench::gpu_memory<flags> both_{1};
  bench::gpu_stream streams_[2];
  std::uint64_t rounds_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program("gpu_bare_flag", [&] {
    const auto options = bench::gpu_options::parse(argc, argv);
    flag_times flag(options);
    using enum cuda::std::memory_order;
    constexpr auto system = cuda::thread_scope_system;
    constexpr auto device = cuda::thread_scope_device;
    flag.measure("release and acquire, system", exchange<system, release, acquire>, false);
    flag.measure("release and acquire, system, two kernels", exchange<system, release, acquire>,
                 true);
    flag.measure("release and acquire, device", exchange<device, release, acquire>, false);
    flag.measure("relaxed, system", exchange<system, relaxed, relaxed>, false);
  });
}
