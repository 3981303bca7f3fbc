// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// How long one call of a kernel takes between two PEs of NVSHMEM: as heddle/latency.cu.
#include "../partition.cuh"
#include "forked_pes.hpp"
#include "groups.cuh"

namespace {

using bench::nvshmem_pe;
using std::uint64_t;

template <class By>
__device__ void wait_for(uint64_t* signal, uint64_t value) {
  if (By::rank() == 0) nvshmem_signal_wait_until(signal, NVSHMEM_CMP_GE, value);
  By::sync();
}

/// n round trips of a signal, which is a call of one thread.
template <class By>
__global__ void signal_rounds(uint64_t* signal, int me, uint64_t before, uint64_t n) {
  if (!bench::in_first_group<By>()) return;
  const auto send = [&](uint64_t i) {
    By::sync();
    if (By::rank() == 0) nvshmemx_signal_op(signal, i, NVSHMEM_SIGNAL_SET, 1 - me);
  };
  for (uint64_t i = before + 1; i <= before + n; ++i) {
    if (me == 0) send(i);
    wait_for<By>(signal, i);
    if (me == 1) send(i);
  }
}

template <class By>
__global__ void put_signal_rounds(uint64_t* inbox, const uint64_t* outbox, std::size_t words,
                                  uint64_t* signal, int me, uint64_t before, uint64_t n) {
  if (!bench::in_first_group<By>()) return;
  for (uint64_t i = before + 1; i <= before + n; ++i) {
    if (me == 0) By::put_signal(inbox, outbox, words, signal, i, 1);
    wait_for<By>(signal, i);
    if (me == 1) By::put_signal(inbox, outbox, words, signal, i, 0);
  }
}

/// n puts of PE 0, each complete before the next.
template <class By>
__global__ void complete_puts(uint64_t* to, const uint64_t* from, std::size_t words, uint64_t n) {
  if (!bench::in_first_group<By>()) return;
  for (uint64_t i = 0; i < n; ++i) {
    By::put(to, from, words, 1);
    By::sync();
    if (By::rank() == 0) nvshmem_quiet();
    By::sync();
  }
}

template <class By>
__global__ void gets(uint64_t* to, const uint64_t* from, std::size_t words, uint64_t n) {
  if (!bench::in_first_group<By>()) return;
  for (uint64_t i = 0; i < n; ++i) By::get(to, from, words, 1);
}

class latencies {
 public:
  explicit latencies(nvshmem_pe& pe)
      : pe_(pe), inbox_(most_words), outbox_(most_words), signal_(1) {}

  template <class By>
  void measure() {
    const double us = pe_.time([&](uint64_t n) {
      signal_rounds<By>
          <<<1, By::threads, 0, pe_.stream()>>>(signal_.data(), pe_.my_pe(), rounds_, n);
      rounds_ += n;
    });
    pe_.report("signal", By::name, 8, us / 2);
    for (const std::size_t bytes : pe_.options().up_to_max({8, 64, 512, 4096, 32'768, 262'144}))
      if (bytes <= By::most_bytes) measure_size<By>(bytes);
  }

 private:
  static constexpr std::size_t most_words = 262'144 / sizeof(uint64_t);

  template <class By>
  void measure_size(std::size_t bytes) {
    const std::size_t words = bytes / sizeof(uint64_t);
    time_verified<By>("put_signal", words, 2, 3, [&](uint64_t n) {
      put_signal_rounds<By><<<1, By::threads, 0, pe_.stream()>>>(
          inbox_.data(), outbox_.data(), words, signal_.data(), pe_.my_pe(), rounds_, n);
      rounds_ += n;
    });
    time_verified<By>("put, complete", words, 1, 1 << 1, [&](uint64_t n) {
      if (pe_.my_pe() == 0)
        complete_puts<By>
            <<<1, By::threads, 0, pe_.stream()>>>(inbox_.data(), outbox_.data(), words, n);
    });
    time_verified<By>("get", words, 1, 1 << 0, [&](uint64_t n) {
      if (pe_.my_pe() == 0)
        gets<By><<<1, By::threads, 0, pe_.stream()>>>(inbox_.data(), outbox_.data(), words, n);
    });
  }

  /// `enqueue` brings the other's outbox to the PEs whose bits are in `receivers`.
  template <class By, class Enqueue>
  void time_verified(const char* what, std::size_t words, int trips, unsigned receivers,
                     Enqueue enqueue) {
    ++content_;
    const auto sent_by = [&](int pe) {
      std::vector<uint64_t> sent(words);
      for (std::size_t w = 0; w < words; ++w)
        sent[w] = bench::pattern(w + content_) + static_cast<uint64_t>(pe);
      return sent;
    };
    pe_.write(outbox_.data(), sent_by(pe_.my_pe()));
    pe_.agree(0);
    enqueue(1);
    bench::check(cudaGetLastError(), "launching a kernel");
    pe_.synchronize();
    pe_.agree(0);
    if ((receivers >> pe_.my_pe() & 1u) != 0 &&
        pe_.read(inbox_.data(), words) != sent_by(1 - pe_.my_pe()))
      throw std::runtime_error(std::string(what) + " by a " + By::name + " brought wrong data");
    const double us = pe_.time(enqueue);
    pe_.report(what, By::name, words * sizeof(uint64_t), us / trips);
  }

  nvshmem_pe& pe_;
  bench::nvshmem_array<uint64_t> inbox_;
  bench::nvshmem_array<uint64_t> outbox_;
  bench::nvshmem_array<uint64_t> signal_;
  uint64_t rounds_ = 0;
  std::size_t content_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program("gpu_nvshmem_latency", [&] {
    const auto options = bench::gpu_options::parse(argc, argv);
    if (options.pes != 2) throw std::invalid_argument("latencies are between 2 PEs");
    bench::run_nvshmem_pes(options, [](nvshmem_pe& pe) {
      latencies all(pe);
      all.measure<bench::nvshmem_thread>();
      all.measure<bench::nvshmem_warp>();
      all.measure<bench::nvshmem_block>();
    });
  });
}
