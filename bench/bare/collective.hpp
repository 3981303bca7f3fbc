// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "copy.hpp"
#include "kernels.hpp"
#include "pair.hpp"

namespace bench::bare {

/// The collectives beside AllReduce between two processes, written straight on shared memory: each
/// byte moves once, after a flag that says that it is there, and a flag says that it was taken. Who
/// receives copies; of a gather each its own piece, and of a broadcast and a reduce each a half.
/// For sizes at which the bytes, not the flags, are what counts. A contender of collective_sweep.
class collectives {
 public:
  /// `epoch` is of all calls on the pair. `streaming`: what is copied goes round the caches.
  collectives(pair& pair, const kernels& kernels, bool streaming, std::uint64_t& epoch)
      : pair_(pair), kernels_(kernels), streaming_(streaming), epoch_(epoch) {}

  [[nodiscard]] int my_pe() const { return pair_.me(); }
  [[nodiscard]] static int n_pes() { return 2; }
  [[nodiscard]] unsigned char* input() const { return bytes(pair_.input(pair_.me())); }
  [[nodiscard]] unsigned char* output() const { return bytes(pair_.output(pair_.me())); }
  double largest(double x) { return agree(pair_, x); }

  // In bytes, a multiple of 4; the root is 0.
  void broadcast(std::size_t piece);
  void all_gather(std::size_t piece);
  void all_to_all(std::size_t piece);
  void gather(std::size_t piece);
  void scatter(std::size_t piece);
  void reduce_scatter(std::size_t piece);
  void reduce(std::size_t piece);

 private:
  static unsigned char* bytes(float* elements) {
    return reinterpret_cast<unsigned char*>(elements);
  }
  [[nodiscard]] bool is_root() const { return pair_.me() == 0; }
  void copy(float* to, const float* from, std::size_t n) const;
  /// What the others take is there; they have taken it.
  void say_ready();
  void await_ready();
  void say_done();
  void await_done();

  pair& pair_;
  const kernels& kernels_;
  const bool streaming_;
  std::uint64_t& epoch_;
};

}  // namespace bench::bare
