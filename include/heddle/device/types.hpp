// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/platform.hpp>

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#endif

namespace heddle {

/// A 64-bit symmetric word that puts update and waits watch.
using signal = uint64_t;

enum class signal_op : int { set = 0, add = 1 };

/// Comparison of a word with a value, both of the type that the call has; signals are unsigned.
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

/// 8-bit floating point as stored (OCP FP8, also in ONNX and PyTorch). Arithmetic is done in float.
/// e4m3: 4 bits of exponent, up to 448, no infinity. e5m2: the upper half of an f16.
struct f8_e4m3 {
  uint8_t bits;
};
struct f8_e5m2 {
  uint8_t bits;
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

HEDDLE_FN inline double as_double(uint64_t bits) {
#if HEDDLE_ON_CUDA
  return __longlong_as_double(static_cast<long long>(bits));
#else
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
#endif
}

HEDDLE_FN inline uint64_t as_bits(double value) {
#if HEDDLE_ON_CUDA
  return static_cast<uint64_t>(__double_as_longlong(value));
#else
  uint64_t bits;
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

namespace detail {

/// The bits of a float as a format of 8 bits whose significand has `Fraction` bits behind the point
/// and whose exponent is biased by `Bias`; `largest` are those of the largest finite number.
template <int Fraction, int Bias>
HEDDLE_FN inline uint8_t to_f8_bits(float value, uint32_t largest) {
  constexpr int shift = 23 - Fraction;
  constexpr uint32_t smallest_normal = static_cast<uint32_t>(127 + 1 - Bias) << 23;
  constexpr uint32_t rebias = static_cast<uint32_t>(Bias - 127) << 23;
  // A sum with this rounds at the last bit of a subnormal result.
  constexpr uint32_t subnormal_unit = static_cast<uint32_t>(127 + 1 - Bias - Fraction + 23) << 23;
  const uint32_t bits = as_bits(value);
  const uint32_t magnitude = bits & 0x7fffffffu;
  const uint32_t subnormal =
      as_bits(as_float(magnitude) + as_float(subnormal_unit)) - subnormal_unit;
  const uint32_t rounding = (1u << (shift - 1)) - 1 + ((magnitude >> shift) & 1u);
  const uint32_t normal = (magnitude + rebias + rounding) >> shift;
  const uint32_t finite = magnitude < smallest_normal ? subnormal
                          : normal < largest          ? normal
                                                      : largest;
  const uint32_t result = magnitude > 0x7f800000u ? 0x7fu : finite;
  return static_cast<uint8_t>(result | ((bits >> 24) & 0x80u));
}

}  // namespace detail

/// Exact.
HEDDLE_FN inline float to_float(f8_e4m3 value) {
  const uint32_t magnitude = value.bits & 0x7fu;
  const uint32_t sign = (value.bits & 0x80u) << 24;
  uint32_t bits =
      detail::as_bits(detail::as_float(magnitude << 20) * detail::as_float(0x7b800000u));
  bits |= magnitude == 0x7fu ? 0x7fc00000u : 0u;
  return detail::as_float(bits | sign);
}
HEDDLE_FN inline float to_float(f8_e5m2 value) {
  return to_float(f16{static_cast<uint16_t>(value.bits << 8)});
}

/// Round to nearest even; what is too large becomes the largest finite number (as CUDA's own
/// conversions do), a NaN stays a NaN.
HEDDLE_FN inline f8_e4m3 to_f8_e4m3(float value) {
#if HEDDLE_ON_CUDA
  return {__nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3)};
#else
  return {detail::to_f8_bits<3, 7>(value, 0x7e)};
#endif
}
HEDDLE_FN inline f8_e5m2 to_f8_e5m2(float value) {
#if HEDDLE_ON_CUDA
  return {__nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E5M2)};
#else
  return {detail::to_f8_bits<2, 15>(value, 0x7b)};
#endif
}

/// Those that are accumulated in float.
template <class T>
concept small_float = standard::is_same_v<T, f16> || standard::is_same_v<T, bf16> ||
    standard::is_same_v<T, f8_e4m3> || standard::is_same_v<T, f8_e5m2>;

template <small_float T>
HEDDLE_FN T from_float(float value) {
  if constexpr (standard::is_same_v<T, f16>) {
    return to_f16(value);
  } else if constexpr (standard::is_same_v<T, bf16>) {
    return to_bf16(value);
  } else if constexpr (standard::is_same_v<T, f8_e4m3>) {
    return to_f8_e4m3(value);
  } else {
    return to_f8_e5m2(value);
  }
}

}  // namespace heddle
