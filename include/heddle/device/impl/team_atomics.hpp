// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/team.hpp>

namespace heddle {

namespace detail {

/// The words that every path (memory, network) updates indivisibly.
template <class T>
inline constexpr bool atomic_word = standard::is_trivially_copyable_v<T> &&
                                    (sizeof(T) == 4 || sizeof(T) == 8);

}  // namespace detail

template <class T>
HEDDLE_FN T team_ref::atomic_fetch(const T* word, int pe) const {
  static_assert(detail::atomic_word<T>);
  if (is_remote(pe)) return remote_atomic(word, atomic_op::fetch, T{}, T{}, true, pe);
  return load(ptr(word, pe), relaxed);
}

template <class T>
HEDDLE_FN void team_ref::atomic_set(T* word, standard::type_identity_t<T> value, int pe) const {
  static_assert(detail::atomic_word<T>);
  if (is_remote(pe)) return (void)remote_atomic(word, atomic_op::swap, value, T{}, false, pe);
  store(ptr(word, pe), value, ordered_by_fence);
}

template <class T>
HEDDLE_FN T team_ref::atomic_swap(T* word, standard::type_identity_t<T> value, int pe) const {
  static_assert(detail::atomic_word<T>);
  if (is_remote(pe)) return remote_atomic(word, atomic_op::swap, value, T{}, true, pe);
  return atomic_ref<T>(*ptr(word, pe)).exchange(value, ordered_by_fence);
}

template <class T>
HEDDLE_FN T team_ref::atomic_compare_swap(T* word, standard::type_identity_t<T> compare,
                                          standard::type_identity_t<T> value, int pe) const {
  static_assert(detail::atomic_word<T>);
  if (is_remote(pe)) return remote_atomic(word, atomic_op::compare_swap, value, compare, true, pe);
  atomic_ref<T>(*ptr(word, pe)).compare_exchange_strong(compare, value, ordered_by_fence, relaxed);
  return compare;
}

template <class T>
HEDDLE_FN T team_ref::atomic_fetch_add(T* word, standard::type_identity_t<T> value, int pe) const {
  static_assert(detail::atomic_word<T> && standard::is_integral_v<T>);
  if (is_remote(pe)) return remote_atomic(word, atomic_op::add, value, T{}, true, pe);
  return atomic_ref<T>(*ptr(word, pe)).fetch_add(value, ordered_by_fence);
}

template <class T>
HEDDLE_FN void team_ref::atomic_add(T* word, standard::type_identity_t<T> value, int pe) const {
  if (is_remote(pe)) return (void)remote_atomic(word, atomic_op::add, value, T{}, false, pe);
  atomic_fetch_add(word, value, pe);
}

template <class T>
HEDDLE_FN T team_ref::atomic_fetch_inc(T* word, int pe) const {
  return atomic_fetch_add(word, T{1}, pe);
}

template <class T>
HEDDLE_FN void team_ref::atomic_inc(T* word, int pe) const {
  atomic_add(word, T{1}, pe);
}

template <class T>
HEDDLE_FN T team_ref::atomic_fetch_and(T* word, standard::type_identity_t<T> value, int pe) const {
  static_assert(detail::atomic_word<T> && standard::is_integral_v<T>);
  if (is_remote(pe)) return remote_atomic(word, atomic_op::bit_and, value, T{}, true, pe);
  return atomic_ref<T>(*ptr(word, pe)).fetch_and(value, ordered_by_fence);
}

template <class T>
HEDDLE_FN void team_ref::atomic_and(T* word, standard::type_identity_t<T> value, int pe) const {
  if (is_remote(pe)) return (void)remote_atomic(word, atomic_op::bit_and, value, T{}, false, pe);
  atomic_fetch_and(word, value, pe);
}

template <class T>
HEDDLE_FN T team_ref::atomic_fetch_or(T* word, standard::type_identity_t<T> value, int pe) const {
  static_assert(detail::atomic_word<T> && standard::is_integral_v<T>);
  if (is_remote(pe)) return remote_atomic(word, atomic_op::bit_or, value, T{}, true, pe);
  return atomic_ref<T>(*ptr(word, pe)).fetch_or(value, ordered_by_fence);
}

template <class T>
HEDDLE_FN void team_ref::atomic_or(T* word, standard::type_identity_t<T> value, int pe) const {
  if (is_remote(pe)) return (void)remote_atomic(word, atomic_op::bit_or, value, T{}, false, pe);
  atomic_fetch_or(word, value, pe);
}

template <class T>
HEDDLE_FN T team_ref::atomic_fetch_xor(T* word, standard::type_identity_t<T> value, int pe) const {
  static_assert(detail::atomic_word<T> && standard::is_integral_v<T>);
  if (is_remote(pe)) return remote_atomic(word, atomic_op::bit_xor, value, T{}, true, pe);
  return atomic_ref<T>(*ptr(word, pe)).fetch_xor(value, ordered_by_fence);
}

template <class T>
HEDDLE_FN void team_ref::atomic_xor(T* word, standard::type_identity_t<T> value, int pe) const {
  if (is_remote(pe)) return (void)remote_atomic(word, atomic_op::bit_xor, value, T{}, false, pe);
  atomic_fetch_xor(word, value, pe);
}

}  // namespace heddle
