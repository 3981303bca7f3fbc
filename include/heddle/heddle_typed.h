// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

/// Typed names for the C API's one-sided operations, in the manner of OpenSHMEM: thin wrappers of
/// the functions in heddle.h, with the same contracts, errors and ordering. n counts elements.
///
///     heddle_float_put(team, dst, src, n, pe)          heddle_float_put_nbi(...)
///     heddle_float_get(team, dst, src, n, pe)          heddle_float_get_nbi(...)
///     heddle_float_put_signal(team, dst, src, n, signal, value, op, pe)
///     heddle_float_p(team, dst, value, pe)             heddle_float_g(team, &value, src, pe)
///
/// for float, double, char, short, int, long, longlong, schar, uchar, ushort, uint, ulong,
/// ulonglong, int8 to int64, uint8 to uint64, size and ptrdiff; and for the integers of 4 and 8
/// bytes
///
// clang-format off
///     heddle_int_atomic_fetch(team, &old, word, pe)
///     heddle_int_atomic_set, _add, _and, _or, _xor(team, word, value, pe)
///     heddle_int_atomic_inc(team, word, pe)
///     heddle_int_atomic_fetch_add, _fetch_and, _fetch_or, _fetch_xor,
///                           _swap(team, &old, word, value, pe)
///     heddle_int_atomic_fetch_inc(team, &old, word, pe)
///     heddle_int_atomic_compare_swap(team, &old, word, compare, value, pe)
// clang-format on
#ifndef HEDDLE_HEDDLE_TYPED_H
#define HEDDLE_HEDDLE_TYPED_H

#include <heddle/heddle.h>

/* The bytes of n elements; what no size_t holds becomes one that no heap has room for. */
static inline size_t heddle_bytes_of(size_t n, size_t size) {
  return n > (size_t)-1 / size ? (size_t)-1 : n * size;
}

#define HEDDLE_TYPED_RMA(NAME, TYPE)                                                              \
  static inline heddle_status_t heddle_##NAME##_put(heddle_team_t team, TYPE* dst,                \
                                                    const TYPE* src, size_t n, int pe) {          \
    return heddle_put(team, dst, src, heddle_bytes_of(n, sizeof(TYPE)), pe);                      \
  }                                                                                               \
  static inline heddle_status_t heddle_##NAME##_put_nbi(heddle_team_t team, TYPE* dst,            \
                                                        const TYPE* src, size_t n, int pe) {      \
    return heddle_put_nbi(team, dst, src, heddle_bytes_of(n, sizeof(TYPE)), pe);                  \
  }                                                                                               \
  static inline heddle_status_t heddle_##NAME##_get(heddle_team_t team, TYPE* dst,                \
                                                    const TYPE* src, size_t n, int pe) {          \
    return heddle_get(team, dst, src, heddle_bytes_of(n, sizeof(TYPE)), pe);                      \
  }                                                                                               \
  static inline heddle_status_t heddle_##NAME##_get_nbi(heddle_team_t team, TYPE* dst,            \
                                                        const TYPE* src, size_t n, int pe) {      \
    return heddle_get_nbi(team, dst, src, heddle_bytes_of(n, sizeof(TYPE)), pe);                  \
  }                                                                                               \
  static inline heddle_status_t heddle_##NAME##_put_signal(                                       \
      heddle_team_t team, TYPE* dst, const TYPE* src, size_t n, uint64_t* signal, uint64_t value, \
      heddle_signal_op_t op, int pe) {                                                            \
    return heddle_put_signal(team, dst, src, heddle_bytes_of(n, sizeof(TYPE)), signal, value, op, \
                             pe);                                                                 \
  }                                                                                               \
  static inline heddle_status_t heddle_##NAME##_p(heddle_team_t team, TYPE* dst, TYPE value,      \
                                                  int pe) {                                       \
    return heddle_put(team, dst, &value, sizeof value, pe);                                       \
  }                                                                                               \
  static inline heddle_status_t heddle_##NAME##_g(heddle_team_t team, TYPE* value,                \
                                                  const TYPE* src, int pe) {                      \
    return heddle_get(team, value, src, sizeof *value, pe);                                       \
  }

HEDDLE_TYPED_RMA(float, float)
HEDDLE_TYPED_RMA(double, double)
HEDDLE_TYPED_RMA(char, char)
HEDDLE_TYPED_RMA(schar, signed char)
HEDDLE_TYPED_RMA(short, short)
HEDDLE_TYPED_RMA(int, int)
HEDDLE_TYPED_RMA(long, long)
HEDDLE_TYPED_RMA(longlong, long long)
HEDDLE_TYPED_RMA(uchar, unsigned char)
HEDDLE_TYPED_RMA(ushort, unsigned short)
HEDDLE_TYPED_RMA(uint, unsigned int)
HEDDLE_TYPED_RMA(ulong, unsigned long)
HEDDLE_TYPED_RMA(ulonglong, unsigned long long)
HEDDLE_TYPED_RMA(int8, int8_t)
HEDDLE_TYPED_RMA(int16, int16_t)
HEDDLE_TYPED_RMA(int32, int32_t)
HEDDLE_TYPED_RMA(int64, int64_t)
HEDDLE_TYPED_RMA(uint8, uint8_t)
HEDDLE_TYPED_RMA(uint16, uint16_t)
HEDDLE_TYPED_RMA(uint32, uint32_t)
HEDDLE_TYPED_RMA(uint64, uint64_t)
HEDDLE_TYPED_RMA(size, size_t)
HEDDLE_TYPED_RMA(ptrdiff, ptrdiff_t)
#undef HEDDLE_TYPED_RMA

/* One operation with an old value, and the same without. */
#define HEDDLE_TYPED_ATOMIC(NAME, TYPE, WITH_OLD, WITHOUT_OLD, OP)                     \
  static inline heddle_status_t heddle_##NAME##_atomic_##WITH_OLD(                     \
      heddle_team_t team, TYPE* old, TYPE* word, TYPE value, int pe) {                 \
    uint64_t fetched;                                                                  \
    const heddle_status_t status =                                                     \
        heddle_atomic(team, word, sizeof(TYPE), OP, (uint64_t)value, 0, &fetched, pe); \
    if (status == HEDDLE_SUCCESS && old) *old = (TYPE)fetched;                         \
    return status;                                                                     \
  }                                                                                    \
  static inline heddle_status_t heddle_##NAME##_atomic_##WITHOUT_OLD(                  \
      heddle_team_t team, TYPE* word, TYPE value, int pe) {                            \
    return heddle_atomic(team, word, sizeof(TYPE), OP, (uint64_t)value, 0, NULL, pe);  \
  }

#define HEDDLE_TYPED_ATOMICS(NAME, TYPE)                                                         \
  HEDDLE_TYPED_ATOMIC(NAME, TYPE, swap, set, HEDDLE_ATOMIC_SWAP)                                 \
  HEDDLE_TYPED_ATOMIC(NAME, TYPE, fetch_add, add, HEDDLE_ATOMIC_ADD)                             \
  HEDDLE_TYPED_ATOMIC(NAME, TYPE, fetch_and, and, HEDDLE_ATOMIC_AND)                             \
  HEDDLE_TYPED_ATOMIC(NAME, TYPE, fetch_or, or, HEDDLE_ATOMIC_OR)                                \
  HEDDLE_TYPED_ATOMIC(NAME, TYPE, fetch_xor, xor, HEDDLE_ATOMIC_XOR)                             \
  static inline heddle_status_t heddle_##NAME##_atomic_fetch(heddle_team_t team, TYPE* old,      \
                                                             const TYPE* word, int pe) {         \
    uint64_t fetched;                                                                            \
    const heddle_status_t status =                                                               \
        heddle_atomic(team, (TYPE*)word, sizeof(TYPE), HEDDLE_ATOMIC_FETCH, 0, 0, &fetched, pe); \
    if (status == HEDDLE_SUCCESS && old) *old = (TYPE)fetched;                                   \
    return status;                                                                               \
  }                                                                                              \
  static inline heddle_status_t heddle_##NAME##_atomic_fetch_inc(heddle_team_t team, TYPE* old,  \
                                                                 TYPE* word, int pe) {           \
    return heddle_##NAME##_atomic_fetch_add(team, old, word, 1, pe);                             \
  }                                                                                              \
  static inline heddle_status_t heddle_##NAME##_atomic_inc(heddle_team_t team, TYPE* word,       \
                                                           int pe) {                             \
    return heddle_##NAME##_atomic_add(team, word, 1, pe);                                        \
  }                                                                                              \
  static inline heddle_status_t heddle_##NAME##_atomic_compare_swap(                             \
      heddle_team_t team, TYPE* old, TYPE* word, TYPE compare, TYPE value, int pe) {             \
    uint64_t fetched;                                                                            \
    const heddle_status_t status =                                                               \
        heddle_atomic(team, word, sizeof(TYPE), HEDDLE_ATOMIC_COMPARE_SWAP, (uint64_t)value,     \
                      (uint64_t)compare, &fetched, pe);                                          \
    if (status == HEDDLE_SUCCESS && old) *old = (TYPE)fetched;                                   \
    return status;                                                                               \
  }

HEDDLE_TYPED_ATOMICS(int, int)
HEDDLE_TYPED_ATOMICS(long, long)
HEDDLE_TYPED_ATOMICS(longlong, long long)
HEDDLE_TYPED_ATOMICS(uint, unsigned int)
HEDDLE_TYPED_ATOMICS(ulong, unsigned long)
HEDDLE_TYPED_ATOMICS(ulonglong, unsigned long long)
HEDDLE_TYPED_ATOMICS(int32, int32_t)
HEDDLE_TYPED_ATOMICS(int64, int64_t)
HEDDLE_TYPED_ATOMICS(uint32, uint32_t)
HEDDLE_TYPED_ATOMICS(uint64, uint64_t)
HEDDLE_TYPED_ATOMICS(size, size_t)
HEDDLE_TYPED_ATOMICS(ptrdiff, ptrdiff_t)
#undef HEDDLE_TYPED_ATOMICS
#undef HEDDLE_TYPED_ATOMIC

#endif
