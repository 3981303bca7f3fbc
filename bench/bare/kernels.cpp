// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// Compiled three times: for the baseline of the architecture, for AVX2 and for AVX-512
// (BENCH_KERNELS names the table). Everything here is static or a macro's, so that the linker
// cannot pick one instruction set's copy of a function for another's.
#include "kernels.hpp"

#include "spin.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace bench::bare {

namespace {

#if defined(__AVX512F__)
struct vector {
  static constexpr std::size_t width = 16;
  using type = __m512;
  static type load(const float* p) { return _mm512_loadu_ps(p); }
  static type add(type a, type b) { return _mm512_add_ps(a, b); }
  static void store(float* p, type v) { _mm512_storeu_ps(p, v); }
  static void stream(float* p, type v) { _mm512_stream_ps(p, v); }
  static void finish_streaming() { _mm_sfence(); }
};
#elif defined(__AVX2__)
struct vector {
  static constexpr std::size_t width = 8;
  using type = __m256;
  static type load(const float* p) { return _mm256_loadu_ps(p); }
  static type add(type a, type b) { return _mm256_add_ps(a, b); }
  static void store(float* p, type v) { _mm256_storeu_ps(p, v); }
  static void stream(float* p, type v) { _mm256_stream_ps(p, v); }
  static void finish_streaming() { _mm_sfence(); }
};
#elif defined(__x86_64__)
struct vector {
  static constexpr std::size_t width = 4;
  using type = __m128;
  static type load(const float* p) { return _mm_loadu_ps(p); }
  static type add(type a, type b) { return _mm_add_ps(a, b); }
  static void store(float* p, type v) { _mm_storeu_ps(p, v); }
  static void stream(float* p, type v) { _mm_stream_ps(p, v); }
  static void finish_streaming() { _mm_sfence(); }
};
#else
struct vector {
  static constexpr std::size_t width = 4;
  typedef float type __attribute__((vector_size(16), aligned(4)));
  static type load(const float* p) { return *reinterpret_cast<const type*>(p); }
  static type add(type a, type b) { return a + b; }
  static void store(float* p, type v) { *reinterpret_cast<type*>(p) = v; }
  static void stream(float* p, type v) { store(p, v); }
  static void finish_streaming() {}
};
#endif

/// Calls body(i) for each whole step of `unroll` vectors and returns the first element left over.
template <std::size_t Unroll, class Body>
[[gnu::always_inline]] inline std::size_t for_each_step(std::size_t n, Body body) {
  constexpr std::size_t step = Unroll * vector::width;
  std::size_t i = 0;
  for (; i + step <= n; i += step)
    for (std::size_t u = 0; u < Unroll; ++u) body(i + u * vector::width);
  return i;
}

void copy(float* __restrict to, const float* __restrict from, std::size_t n) {
  std::size_t i =
      for_each_step<4>(n, [&](std::size_t k) { vector::store(to + k, vector::load(from + k)); });
  for (; i < n; ++i) to[i] = from[i];
}

void copy_streaming(float* __restrict to, const float* __restrict from, std::size_t n) {
  std::size_t i =
      for_each_step<4>(n, [&](std::size_t k) { vector::stream(to + k, vector::load(from + k)); });
  for (; i < n; ++i) to[i] = from[i];
  vector::finish_streaming();
}

void add(float* __restrict out, const float* __restrict a, const float* __restrict b,
         std::size_t n) {
  std::size_t i = for_each_step<4>(n, [&](std::size_t k) {
    vector::store(out + k, vector::add(vector::load(a + k), vector::load(b + k)));
  });
  for (; i < n; ++i) out[i] = a[i] + b[i];
}

void add_to_both(float* __restrict one, float* __restrict two, const float* __restrict a,
                 const float* __restrict b, std::size_t n) {
  std::size_t i = for_each_step<2>(n, [&](std::size_t k) {
    const auto sum = vector::add(vector::load(a + k), vector::load(b + k));
    vector::store(one + k, sum);
    vector::store(two + k, sum);
  });
  for (; i < n; ++i) one[i] = two[i] = a[i] + b[i];
}

/// Whole lines of each output in turn: a processor has few write-combining buffers.
void add_to_both_streaming(float* __restrict one, float* __restrict two, const float* __restrict a,
                           const float* __restrict b, std::size_t n) {
  constexpr std::size_t vectors = 16 / vector::width;
  std::size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    vector::type sum[vectors];
    for (std::size_t v = 0; v < vectors; ++v)
      sum[v] = vector::add(vector::load(a + i + v * vector::width),
                           vector::load(b + i + v * vector::width));
    for (std::size_t v = 0; v < vectors; ++v) vector::stream(one + i + v * vector::width, sum[v]);
    for (std::size_t v = 0; v < vectors; ++v) vector::stream(two + i + v * vector::width, sum[v]);
  }
  for (; i < n; ++i) one[i] = two[i] = a[i] + b[i];
  vector::finish_streaming();
}

[[gnu::always_inline]] inline std::uint32_t bits_of(float value) {
  return __builtin_bit_cast(std::uint32_t, value);
}

void send_words(word* __restrict to, const float* __restrict from, std::size_t n,
                std::uint32_t flag) {
  const word high = static_cast<word>(flag) << 32;
  std::size_t i = 0;
#if defined(__AVX512F__)
  // A vector store that does not cross a line is never split within an aligned 8-byte word.
  for (; i + 8 <= n; i += 8) {
    const __m512i data =
        _mm512_cvtepu32_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i)));
    _mm512_store_si512(to + i,
                       _mm512_or_si512(data, _mm512_set1_epi64(static_cast<long long>(high))));
  }
#elif defined(__AVX2__)
  for (; i + 4 <= n; i += 4) {
    const __m256i data =
        _mm256_cvtepu32_epi64(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
    _mm256_store_si256(reinterpret_cast<__m256i*>(to + i),
                       _mm256_or_si256(data, _mm256_set1_epi64x(static_cast<long long>(high))));
  }
#endif
  for (; i < n; ++i) __atomic_store_n(to + i, high | bits_of(from[i]), __ATOMIC_RELAXED);
}

bool receive_words(float* __restrict out, const word* __restrict arriving,
                   const float* __restrict mine, std::size_t n, std::uint32_t flag) {
  std::size_t i = 0;
#if defined(__AVX512F__)
  const __m512i flags = _mm512_set1_epi64(static_cast<long long>(flag));
  for (; i + 8 <= n; i += 8) {
    __m512i words;
    if (!spin_until([&] {
          asm volatile("vmovdqa64 %1, %0"
                       : "=v"(words)
                       : "m"(*reinterpret_cast<const __m512i*>(arriving + i)));
          return _mm512_cmpeq_epi64_mask(_mm512_srli_epi64(words, 32), flags) == 0xff;
        }))
      return false;
    const __m256 theirs = _mm256_castsi256_ps(_mm512_cvtepi64_epi32(words));
    _mm256_storeu_ps(out + i, _mm256_add_ps(_mm256_loadu_ps(mine + i), theirs));
  }
#elif defined(__AVX2__)
  const __m256i flags = _mm256_set1_epi64x(static_cast<long long>(flag));
  const __m256i low_halves = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
  for (; i + 4 <= n; i += 4) {
    __m256i words;
    if (!spin_until([&] {
          asm volatile("vmovdqa %1, %0"
                       : "=x"(words)
                       : "m"(*reinterpret_cast<const __m256i*>(arriving + i)));
          return _mm256_movemask_epi8(_mm256_cmpeq_epi64(_mm256_srli_epi64(words, 32), flags)) ==
                 -1;
        }))
      return false;
    const __m128 theirs =
        _mm_castsi128_ps(_mm256_castsi256_si128(_mm256_permutevar8x32_epi32(words, low_halves)));
    _mm_storeu_ps(out + i, _mm_add_ps(_mm_loadu_ps(mine + i), theirs));
  }
#endif
  for (; i < n; ++i) {
    word w;
    if (!spin_until([&] {
          w = __atomic_load_n(arriving + i, __ATOMIC_RELAXED);
          return static_cast<std::uint32_t>(w >> 32) == flag;
        }))
      return false;
    out[i] = mine[i] + __builtin_bit_cast(float, static_cast<std::uint32_t>(w));
  }
  return true;
}

void send_lines(line* __restrict to, const float* __restrict from, std::size_t n,
                std::uint64_t flag) {
  for (; n >= line::elements; ++to, from += line::elements, n -= line::elements) {
    __builtin_memcpy(to->data, from, sizeof to->data);
    __atomic_store_n(&to->flag, flag, __ATOMIC_RELEASE);
  }
  if (n == 0) return;
  for (std::size_t i = 0; i < n; ++i) to->data[i] = from[i];
  __atomic_store_n(&to->flag, flag, __ATOMIC_RELEASE);
}

bool receive_lines(float* __restrict out, const line* __restrict arriving,
                   const float* __restrict mine, std::size_t n, std::uint64_t flag) {
  for (; n > 0; ++arriving) {
    if (!spin_until([&] { return __atomic_load_n(&arriving->flag, __ATOMIC_ACQUIRE) == flag; }))
      return false;
    if (n < line::elements) {
      for (std::size_t i = 0; i < n; ++i) out[i] = mine[i] + arriving->data[i];
      return true;
    }
    for (std::size_t i = 0; i < line::elements; ++i) out[i] = mine[i] + arriving->data[i];
    out += line::elements;
    mine += line::elements;
    n -= line::elements;
  }
  return true;
}

}  // namespace

extern const kernels BENCH_KERNELS;
const kernels BENCH_KERNELS = {
    BENCH_ISA_NAME,        copy,       copy_streaming, add,        add_to_both,
    add_to_both_streaming, send_words, receive_words,  send_lines, receive_lines};

}  // namespace bench::bare
