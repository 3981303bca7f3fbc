// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/atomic.hpp>

/// The LL protocol's words: data and flag travel in one store, so there is nothing to order and one
/// crossing of the memory is all it costs; half of the bytes are flags.
///
// clang-format off
///     | data, lower 32 bits | flag | data, upper 32 bits | flag |     a line: 16 bytes, 8 of data
// clang-format on
///
/// Each half is written indivisibly (8 bytes; the line as a whole need not be), so each has a flag.
/// A reader polls until both flags are the one it expects. Flags run 1, 2, ... period, 1, ...: 0 is
/// memory never written. Nothing is cleared: a place is written with growing flags, and a writer
/// rewrites the whole of it once in each period ("refresh"), so that no flag of the period before
/// is left to be mistaken. On the host a line is released and acquired too: it may tell that what
/// was sent before has been read (mailbox.hpp). (Idea: NCCL's LL, S. Jeaugey 2018.)
namespace heddle {

struct alignas(16) ll_line {
  uint32_t data0, flag0, data1, flag1;
};

HEDDLE_APART HEDDLE_FN inline uint32_t ll_flag_by_division(uint64_t count, uint32_t period) {
  return static_cast<uint32_t>(count % period) + 1;
}
/// The flag of step or epoch `count` = 0, 1, 2, ...
HEDDLE_FN inline uint32_t ll_flag(uint64_t count, uint32_t period) {
  // A 32-bit period needs no division: 2^32 - 1 is what the sum of the halves is taken modulo.
  if (period != 0xffffffffu) return ll_flag_by_division(count, period);
  uint64_t folded = (count >> 32) + (count & 0xffffffffu);
  if (folded >= 0xffffffffu) folded -= 0xffffffffu;
  return static_cast<uint32_t>(folded) + 1;
}

HEDDLE_FN inline void ll_store(ll_line* line, uint64_t data, uint32_t flag) {
  const auto low = static_cast<uint32_t>(data);
  const auto high = static_cast<uint32_t>(data >> 32);
#if HEDDLE_ON_CUDA
  asm volatile("st.relaxed.sys.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(line), "r"(low), "r"(flag),
               "r"(high), "r"(flag)
               : "memory");
#else
  auto* halves = reinterpret_cast<uint64_t*>(line);
  const uint64_t tag = static_cast<uint64_t>(flag) << 32;
  store(&halves[0], tag | low, release);
  store(&halves[1], tag | high, release);
#endif
}

/// True, and the data, if the line carries `flag`.
HEDDLE_FN inline bool ll_load(const ll_line* line, uint32_t flag, uint64_t& data) {
#if HEDDLE_ON_CUDA
  uint32_t low, flag0, high, flag1;
  asm volatile("ld.relaxed.sys.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(low), "=r"(flag0), "=r"(high), "=r"(flag1)
               : "l"(line)
               : "memory");
  data = static_cast<uint64_t>(high) << 32 | low;
  return flag0 == flag && flag1 == flag;
#else
  const auto* halves = reinterpret_cast<const uint64_t*>(line);
  const uint64_t low = load(&halves[0], acquire);
  const uint64_t high = load(&halves[1], acquire);
  data = (high << 32) | (low & 0xffffffffu);
  return static_cast<uint32_t>(low >> 32) == flag && static_cast<uint32_t>(high >> 32) == flag;
#endif
}

}  // namespace heddle
