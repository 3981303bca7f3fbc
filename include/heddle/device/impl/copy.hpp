// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/group.hpp>

#if !HEDDLE_ON_CUDA && defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace heddle::detail {

/// 16 bytes moved by one load and one store of a CUDA thread.
struct alignas(16) vector16 {
  uint64_t words[2];
};

/// `offset` bytes into a buffer of a call; where nothing goes there is none, and the null pointer
/// may not be added to.
template <class Byte>
HEDDLE_FN inline Byte* place_in(Byte* buffer, size_t offset) {
#if HEDDLE_ON_CUDA
  return buffer + offset;
#else
  return reinterpret_cast<Byte*>(reinterpret_cast<uintptr_t>(buffer) + offset);
#endif
}

/// How results are written on the host. Streaming stores go round the caches: for results so large
/// that they would not be there any more when they are read, they save the read of every line that
/// is overwritten.
enum class stores { cached, streaming };

/// Those of so many bytes, where `streaming_from` fill the caches.
HEDDLE_FN constexpr stores choose_stores(size_t bytes, size_t streaming_from) {
  return bytes >= streaming_from ? stores::streaming : stores::cached;
}

/// This thread's share of [0, n): contiguous, its inner borders multiples of `granule`.
struct share {
  size_t begin, end;

  template <group G>
  HEDDLE_FN static share of(G group, size_t n, size_t granule) {
    const auto threads = static_cast<size_t>(group.size());
    if (threads == 1) return {0, n};
    const size_t granules = (n + granule - 1) / granule;
    const size_t each = (granules + threads - 1) / threads * granule;
    const size_t begin = each * static_cast<size_t>(group.rank());
    return {begin < n ? begin : n, begin + each < n ? begin + each : n};
  }
};

#if HEDDLE_ON_CUDA
/// `Batch` units of each thread, `threads` apart, all loaded before the first is stored.
template <int Batch, class Unit>
HEDDLE_FN void copy_batch(Unit* to, const Unit* from, uint32_t threads) {
  Unit unit[Batch];
  for (uint32_t u = 0; u < Batch; ++u) unit[u] = from[u * threads];
  for (uint32_t u = 0; u < Batch; ++u) to[u * threads] = unit[u];
}

/// Units of 16 bytes with 8 loads of each thread under way: few blocks need them to fill the way to
/// memory (an H200 copies 64 MiB by 32 blocks of 512 threads at 1.2 TB/s with 4, 1.5 TB/s with 8).
template <class Unit, group G>
HEDDLE_FN void copy_units(G group, byte* dst, const byte* src, size_t units) {
  const auto threads = static_cast<uint32_t>(group.size());
  auto* to = reinterpret_cast<Unit*>(dst) + group.rank();
  const auto* from = reinterpret_cast<const Unit*>(src) + group.rank();
  const Unit* end = reinterpret_cast<const Unit*>(src) + units;
  const auto move = [&](uint32_t batch) {
    to += batch * threads;
    from += batch * threads;
  };
  if constexpr (sizeof(Unit) == 16) {
    HEDDLE_ROLLED
    for (; from + 7 * threads < end; move(8)) copy_batch<8>(to, from, threads);
  }
  HEDDLE_ROLLED
  for (; from + 3 * threads < end; move(4)) copy_batch<4>(to, from, threads);
  HEDDLE_ROLLED
  for (; from < end; move(1)) *to = *from;
}
#endif

#if !HEDDLE_ON_CUDA && defined(__x86_64__)
/// Whole lines by streaming stores, `to` at a line's start. 32 bytes at a time gain 15 % over 16
/// where memory is the limit (measured on an AMD EPYC, Zen 5), 64 no more.
inline void stream_lines(byte* to, const byte* from, size_t lines) {
  for (size_t at = 0; at < lines * cache_line; at += sizeof(__m128i))
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + at),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at)));
}
// Without <immintrin.h>, which would take compilers 0.4 s in every source that has device code.
typedef long long avx_register __attribute__((vector_size(32), may_alias));
[[gnu::target("avx2")]] inline void stream_lines_avx2(byte* to, const byte* from, size_t lines) {
  for (size_t at = 0; at < lines * cache_line; at += cache_line) {
    avx_register* target = reinterpret_cast<avx_register*>(to + at);
    avx_register first;
    avx_register second;
    std::memcpy(&first, from + at, sizeof first);
    std::memcpy(&second, from + at + sizeof first, sizeof second);
#ifdef __clang__
    __builtin_nontemporal_store(first, target);
    __builtin_nontemporal_store(second, target + 1);
#else
    __builtin_ia32_movntdq256(target, first);
    __builtin_ia32_movntdq256(target + 1, second);
#endif
  }
}

inline const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;

/// memcpy with streaming stores, ordered before any later release. A function of its own: in line
/// GCC warns of what it would read of a small object, for which nobody calls it.
[[gnu::noinline]] inline void copy_streaming(byte* to, const byte* from, size_t bytes) {
  const size_t to_line = (cache_line - reinterpret_cast<uintptr_t>(to) % cache_line) % cache_line;
  const size_t head = to_line < bytes ? to_line : bytes;
  std::memcpy(to, from, head);
  const size_t lines = (bytes - head) / cache_line;
  if (has_avx2) {
    stream_lines_avx2(to + head, from + head, lines);
  } else {
    stream_lines(to + head, from + head, lines);
  }
  const size_t done = head + lines * cache_line;
  std::memcpy(to + done, from + done, bytes - done);
  _mm_sfence();
}

typedef long long avx512_register __attribute__((vector_size(64)));
[[gnu::target("avx512f"), gnu::always_inline]] inline void copy_line(byte* to, const byte* from) {
  avx512_register line;
  std::memcpy(&line, from, sizeof line);
  std::memcpy(to, &line, sizeof line);
}
/// At least a line's worth, by stores of whole lines, four at a time. What the first and the last
/// store write lies as it may, and some of it is written twice.
[[gnu::target("avx512f"), gnu::noinline]] inline void copy_by_lines(byte* to, const byte* from,
                                                                    size_t bytes) {
  copy_line(to, from);
  size_t at = cache_line - reinterpret_cast<uintptr_t>(to) % cache_line;
  for (; bytes - at >= 4 * cache_line; at += 4 * cache_line) {
    // Named: an array would be one in memory where loops are not unrolled.
    avx512_register first, second, third, fourth;
    std::memcpy(&first, from + at, cache_line);
    std::memcpy(&second, from + at + cache_line, cache_line);
    std::memcpy(&third, from + at + 2 * cache_line, cache_line);
    std::memcpy(&fourth, from + at + 3 * cache_line, cache_line);
    std::memcpy(to + at, &first, cache_line);
    std::memcpy(to + at + cache_line, &second, cache_line);
    std::memcpy(to + at + 2 * cache_line, &third, cache_line);
    std::memcpy(to + at + 3 * cache_line, &fourth, cache_line);
  }
  for (; bytes - at >= cache_line; at += cache_line) copy_line(to + at, from + at);
  if (at < bytes) copy_line(to + bytes - cache_line, from + bytes - cache_line);
}
inline const bool has_avx512 = __builtin_cpu_supports("avx512f") != 0;
#endif

#if !HEDDLE_ON_CUDA
/// memcpy. Of some KiB lines take less time than glibc's, of less and of more no less (measured on
/// an AMD EPYC, Zen 4, with glibc 2.36: docs/performance.md).
inline void copy_cached(byte* to, const byte* from, size_t bytes) {
#if defined(__x86_64__) && !HEDDLE_UNDER_THREAD_SANITIZER  // which sees no access of so many bytes
  constexpr size_t least = 2048;
  constexpr size_t most = 8192;
  if (bytes >= least && bytes <= most && has_avx512) return copy_by_lines(to, from, bytes);
#endif
  std::memcpy(to, from, bytes);
}
#endif

#if HEDDLE_ON_CUDA
/// As many bytes as fit in units of that size, which both sides are aligned to behind a head; then
/// the head and what is left.
template <class Unit, group G>
HEDDLE_FN void copy_aligned(G group, byte* to, const byte* from, size_t bytes) {
  const size_t head =
      (sizeof(Unit) - reinterpret_cast<uintptr_t>(to) % sizeof(Unit)) % sizeof(Unit);
  const size_t units = (bytes - head) / sizeof(Unit);
  copy_units<Unit>(group, to + head, from + head, units);
  const size_t body = units * sizeof(Unit);
  HEDDLE_ROLLED
  for (auto i = static_cast<size_t>(group.rank()); i + body < bytes;
       i += static_cast<size_t>(group.size())) {
    const size_t at = i < head ? i : i + body;
    to[at] = from[at];
  }
}
#endif

/// Copies by all threads of the group together, without a sync. CUDA: 16 bytes at a time where both
/// sides have the same alignment, with a head and a tail of bytes, else the widest unit both allow.
template <group G>
HEDDLE_APART HEDDLE_FN void copy(G group, void* dst, const void* src, size_t bytes,
                                 [[maybe_unused]] stores how = stores::cached) {
#if HEDDLE_ON_CUDA
  auto* to = static_cast<byte*>(dst);
  const auto* from = static_cast<const byte*>(src);
  const auto skew = (reinterpret_cast<uintptr_t>(to) ^ reinterpret_cast<uintptr_t>(from));
  if (skew % 16 == 0 && bytes >= 16)
    copy_aligned<vector16>(group, to, from, bytes);
  else if (skew % 4 == 0 && bytes >= 4)
    copy_aligned<uint32_t>(group, to, from, bytes);
  else
    copy_units<byte>(group, to, from, bytes);
#else
  const auto mine = share::of(group, bytes, cache_line);
  if (mine.begin == mine.end) return;
  auto* to = static_cast<byte*>(dst) + mine.begin;
  const auto* from = static_cast<const byte*>(src) + mine.begin;
#if defined(__x86_64__)
  if (how == stores::streaming) return copy_streaming(to, from, mine.end - mine.begin);
#endif
  copy_cached(to, from, mine.end - mine.begin);
#endif
}

}  // namespace heddle::detail
