// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/reduction.hpp>
#include <heddle/device/team.hpp>

#if HEDDLE_ON_CUDA && __CUDA_ARCH__ >= 900
#define HEDDLE_HAS_MULTIMEM 1
#else
#define HEDDLE_HAS_MULTIMEM 0
#endif

namespace heddle::detail {

/// What an NVLink switch does with one access to a multicast address: it reads the same object of
/// all PEs and combines them, in an order of its own, or writes to all. Where there is none (host,
/// GPUs before sm_90) the twin does so PE by PE.
///
/// `supported` says for which elements and reductions: not for products, nor minima and maxima of
/// floating-point numbers, which ignore a NaN there. Sums of 16-bit elements are accumulated in
/// float; what they are narrowed to is not to be divided (`averages`).
template <class T, class Op>
struct multimem {
  static constexpr bool is_sum = standard::is_same_v<Op, reduce_sum>;
  static constexpr bool is_extremum = standard::is_same_v<Op, reduce_extremum>;
  static constexpr bool is_number = standard::is_floating_point_v<T> || small_float<T>;
  static constexpr bool supported = sizeof(T) > 1 &&
                                    (standard::is_integral_v<T>
                                         ? sizeof(T) >= 4 && (is_sum || is_extremum)
                                         : is_sum && is_number);
  /// A switch narrows the sum of 16-bit elements, so that it may be infinite before it is divided.
  static constexpr bool averages = sizeof(T) > 2;
  /// Elements of one access: 16 bytes of floats and halves, else one.
  static constexpr int elements = !supported || standard::is_integral_v<T> || sizeof(T) == 8
                                      ? 1
                                      : static_cast<int>(16 / sizeof(T));
  struct alignas(supported ? elements * sizeof(T) : alignof(T)) unit {
    T element[elements];
  };

  /// `here` is this PE's copy, in the symmetric heap, aligned to a unit.
  HEDDLE_FN static unit load_reduce(const Op& op, const team_ref& team, const T* here) {
    static_assert(supported);
#if HEDDLE_HAS_MULTIMEM
    const T* all = team.multicast(here);
    if constexpr (standard::is_same_v<T, float>) {
      unit sum;
      asm volatile("multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%0, %1, %2, %3}, [%4];"
                   : "=f"(sum.element[0]), "=f"(sum.element[1]), "=f"(sum.element[2]),
                     "=f"(sum.element[3])
                   : "l"(all)
                   : "memory");
      return sum;
    } else if constexpr (standard::is_same_v<T, double>) {
      unit sum;
      asm volatile("multimem.ld_reduce.relaxed.sys.global.add.f64 %0, [%1];"
                   : "=d"(sum.element[0])
                   : "l"(all)
                   : "memory");
      return sum;
    } else if constexpr (sizeof(T) == 2) {
      return load_reduce_halves(all);
    } else {
      return load_reduce_integer(op, all);
    }
#else
    using acc = accumulator<T>;
    unit result;
    for (int e = 0; e < elements; ++e) {
      auto combined = acc::widen(team.ptr(here, 0)[e]);
      for (int pe = 1; pe < team.n_pes(); ++pe)
        combined = op.combine(combined, acc::widen(team.ptr(here, pe)[e]));
      result.element[e] = acc::narrow(combined);
    }
    return result;
#endif
  }

  HEDDLE_FN static void store(const team_ref& team, T* here, const unit& value) {
#if HEDDLE_HAS_MULTIMEM
    T* all = team.multicast(here);
    if constexpr (sizeof(unit) == 16) {
      const auto* words = reinterpret_cast<const float*>(&value);
      asm volatile("multimem.st.relaxed.sys.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(all),
                   "f"(words[0]), "f"(words[1]), "f"(words[2]), "f"(words[3])
                   : "memory");
    } else if constexpr (sizeof(unit) == 8) {
      asm volatile("multimem.st.relaxed.sys.global.b64 [%0], %1;" ::"l"(all),
                   "l"(*reinterpret_cast<const uint64_t*>(&value))
                   : "memory");
    } else {
      asm volatile("multimem.st.relaxed.sys.global.b32 [%0], %1;" ::"l"(all),
                   "r"(*reinterpret_cast<const uint32_t*>(&value))
                   : "memory");
    }
#else
    for (int pe = 0; pe < team.n_pes(); ++pe) *reinterpret_cast<unit*>(team.ptr(here, pe)) = value;
#endif
  }

 private:
#if HEDDLE_HAS_MULTIMEM
  HEDDLE_FN static unit load_reduce_halves(const T* all) {
    alignas(16) uint32_t words[4];
    if constexpr (standard::is_same_v<T, f16>) {
      asm volatile(
          "multimem.ld_reduce.relaxed.sys.global.add.acc::f32.v4.f16x2 {%0, %1, %2, %3}, [%4];"
          : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
          : "l"(all)
          : "memory");
    } else {
      asm volatile(
          "multimem.ld_reduce.relaxed.sys.global.add.acc::f32.v4.bf16x2 {%0, %1, %2, %3}, [%4];"
          : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
          : "l"(all)
          : "memory");
    }
    unit sum;
    memcpy(&sum, words, sizeof sum);
    return sum;
  }

#define HEDDLE_LOAD_REDUCE(how, constraint)                              \
  asm volatile("multimem.ld_reduce.relaxed.sys.global." how " %0, [%1];" \
               : constraint(result.element[0])                           \
               : "l"(all)                                                \
               : "memory")
  HEDDLE_FN static unit load_reduce_integer(const Op& op, const T* all) {
    unit result;
    if constexpr (is_sum) {
      if constexpr (sizeof(T) == 4) HEDDLE_LOAD_REDUCE("add.u32", "=r");
      if constexpr (sizeof(T) == 8) HEDDLE_LOAD_REDUCE("add.u64", "=l");
    } else {
      const bool is_max = (op.flipped & 1) != 0;
      const bool is_signed = is_max == (static_cast<T>(op.flipped) >> (8 * sizeof(T) - 1) != 0);
      if constexpr (sizeof(T) == 4) {
        if (is_signed && !is_max) HEDDLE_LOAD_REDUCE("min.s32", "=r");
        if (is_signed && is_max) HEDDLE_LOAD_REDUCE("max.s32", "=r");
        if (!is_signed && !is_max) HEDDLE_LOAD_REDUCE("min.u32", "=r");
        if (!is_signed && is_max) HEDDLE_LOAD_REDUCE("max.u32", "=r");
      } else {
        if (is_signed && !is_max) HEDDLE_LOAD_REDUCE("min.s64", "=l");
        if (is_signed && is_max) HEDDLE_LOAD_REDUCE("max.s64", "=l");
        if (!is_signed && !is_max) HEDDLE_LOAD_REDUCE("min.u64", "=l");
        if (!is_signed && is_max) HEDDLE_LOAD_REDUCE("max.u64", "=l");
      }
    }
    return result;
  }
#undef HEDDLE_LOAD_REDUCE
#endif
};

/// Orders accesses by a multicast address and by the object's own, of the calling thread.
HEDDLE_FN inline void fence_multicast() {
#if HEDDLE_HAS_MULTIMEM
  asm volatile("fence.proxy.alias;" ::: "memory");
#endif
}

}  // namespace heddle::detail
