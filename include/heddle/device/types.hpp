// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/platform.hpp>

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace heddle {

/// A 64-bit symmetric word that puts update and waits watch.
using signal = uint64_t;

enum class signal_op : int { set = 0, add = 1 };

/// Unsigned comparison of a word with a value.
enum class cmp : int { eq = 0, ne = 1, gt = 2, ge = 3, lt = 4, le = 5 };

template <class T>
HEDDLE_FN constexpr bool compare(cmp how, T word, T value) {
  switch (how) {
    case cmp::eq:
      return word == value;
    case cmp::ne:
      return word != value;
    case cmp::gt:
      return word > value;
    case cmp::ge:
      return word >= value;
    case cmp::lt:
      return word < value;
    case cmp::le:
      return word <= value;
  }
  return false;
}

enum class wait_status : uint32_t {
  ok = 0,
  timeout = 1,  ///< the deadline passed; the word never compared true
  aborted = 2   ///< the team was aborted
};

/// Half precision as stored: IEEE binary16. Arithmetic is done in float.
struct f16 {
  uint16_t bits;
};

/// bfloat16 as stored: the upper half of a binary32. Arithmetic is done in float.
struct bf16 {
  uint16_t bits;
};

namespace detail {

HEDDLE_FN inline float as_float(uint32_t bits) {
#if HEDDLE_ON_CUDA
  return __uint_as_float(bits);
#else
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
#endif
}

HEDDLE_FN inline uint32_t as_bits(float value) {
#if HEDDLE_ON_CUDA
  return __float_as_uint(value);
#else
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
#endif
}

}  // namespace detail

/// Exact. On the host written without branches, so that loops over it vectorise: the exponent is
/// moved by a multiplication with 2^112, which also normalises subnormal numbers.
HEDDLE_FN inline float to_float(f16 value) {
#if HEDDLE_ON_CUDA
  return __half2float(__ushort_as_half(value.bits));
#else
  const uint32_t magnitude = value.bits & 0x7fffu;
  const uint32_t sign = (value.bits & 0x8000u) << 16;
  uint32_t bits =
      detail::as_bits(detail::as_float(magnitude << 13) * detail::as_float(0x77800000u));
  bits |= magnitude >= 0x7c00u ? 0x7f800000u : 0u;
  return detail::as_float(bits | sign);
#endif
}

/// Round to nearest even; overflow gives infinity, a NaN stays a (quiet) NaN.
HEDDLE_FN inline f16 to_f16(float value) {
#if HEDDLE_ON_CUDA
  return {__half_as_ushort(__float2half_rn(value))};
#else
  const uint32_t bits = detail::as_bits(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  // Below 2^-14 the result is subnormal: adding 0.5 lets the addition itself round at its last bit.
  const uint32_t subnormal = detail::as_bits(detail::as_float(magnitude) + 0.5f) - 0x3f000000u;
  const uint32_t normal = (magnitude + 0xc8000fffu + ((magnitude >> 13) & 1u)) >> 13;
  const uint32_t special = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
  const uint32_t finite = magnitude < 0x38800000u ? subnormal : normal;
  return {static_cast<uint16_t>((magnitude >= 0x47800000u ? special : finite) | sign)};
#endif
}

HEDDLE_FN inline float to_float(bf16 value) {
  return detail::as_float(static_cast<uint32_t>(value.bits) << 16);
}

/// Round to nearest even; a NaN stays a (quiet) NaN.
HEDDLE_FN inline bf16 to_bf16(float value) {
  const uint32_t bits = detail::as_bits(value);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const uint32_t quiet_nan = (bits >> 16) | 0x40u;
  return {static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet_nan : rounded)};
}

}  // namespace heddle
