// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// The inner loops of the bare limits, compiled once for each instruction set (kernels.cpp).
namespace bench::bare {

/// 4 bytes of data and the flag that says they are there, in one 8-byte store.
using word = std::uint64_t;

/// One cache line: 56 bytes of data, then the flag, released after them. The stores meet in one
/// line, so the reader that sees the flag has the data already.
struct alignas(64) line {
  static constexpr std::size_t elements = 14;
  float data[elements];
  std::uint64_t flag;
};

struct kernels {
  const char* name;

  void (*copy)(float* to, const float* from, std::size_t n);
  /// With stores that go round the caches.
  void (*copy_streaming)(float* to, const float* from, std::size_t n);
  /// out = a + b
  void (*add)(float* out, const float* a, const float* b, std::size_t n);
  /// one = two = a + b
  void (*add_to_both)(float* one, float* two, const float* a, const float* b, std::size_t n);
  void (*add_to_both_streaming)(float* one, float* two, const float* a, const float* b,
                                std::size_t n);

  void (*send_words)(word* to, const float* from, std::size_t n, std::uint32_t flag);
  /// out = mine + what arrives; false if the words did not all come in time.
  bool (*receive_words)(float* out, const word* arriving, const float* mine, std::size_t n,
                        std::uint32_t flag);
  void (*send_lines)(line* to, const float* from, std::size_t n, std::uint64_t flag);
  bool (*receive_lines)(float* out, const line* arriving, const float* mine, std::size_t n,
                        std::uint64_t flag);
};

extern const kernels portable_kernels;
#if defined(__x86_64__)
extern const kernels avx2_kernels;
extern const kernels avx512_kernels;
#endif

}  // namespace bench::bare
