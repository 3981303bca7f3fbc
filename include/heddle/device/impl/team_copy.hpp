// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/impl/copy.hpp>
#include <heddle/device/team.hpp>

namespace heddle {

template <class T>
HEDDLE_FN T* team_ref::ptr(T* symmetric, int pe) const {
  const int64_t offset =
      slots_ ? (slots_[pe] - my_slot_) * slot_stride_ : (pe - my_pe_) * pe_stride_;
  return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(symmetric) +
                              static_cast<uintptr_t>(offset));
}

template <group G, class T>
HEDDLE_FN void team_ref::put_nbi(G group, T* dst, const T* src, size_t n, int pe) const {
  static_assert(standard::is_trivially_copyable_v<T>);
  detail::copy(group, ptr(dst, pe), src, n * sizeof(T));
}

template <group G, class T>
HEDDLE_FN void team_ref::put(G group, T* dst, const T* src, size_t n, int pe) const {
  put_nbi(group, dst, src, n, pe);
  group.sync();
}

template <group G, class T>
HEDDLE_FN void team_ref::get_nbi(G group, T* dst, const T* src, size_t n, int pe) const {
  static_assert(standard::is_trivially_copyable_v<T>);
  detail::copy(group, dst, ptr(src, pe), n * sizeof(T));
}

template <group G, class T>
HEDDLE_FN void team_ref::get(G group, T* dst, const T* src, size_t n, int pe) const {
  get_nbi(group, dst, src, n, pe);
  group.sync();
}

template <class T>
HEDDLE_FN void team_ref::p(T* dst, T value, int pe) const {
  static_assert(standard::is_trivially_copyable_v<T>);
  T* target = ptr(dst, pe);
  if constexpr (sizeof(T) == 4 || sizeof(T) == 8) {
    store(target, value, ordered_by_fence);
  } else {
    *target = value;
  }
}

template <class T>
HEDDLE_FN T team_ref::g(const T* src, int pe) const {
  static_assert(standard::is_trivially_copyable_v<T>);
  const T* source = ptr(src, pe);
  if constexpr (sizeof(T) == 4 || sizeof(T) == 8) {
    return load(source, relaxed);
  } else {
    return *source;
  }
}

template <group G>
HEDDLE_FN void team_ref::update_signal(G group, signal* signal_word, uint64_t value, signal_op op,
                                       int pe) const {
  group.sync();  // the release below covers what every thread of the group wrote
  if (group.rank() != 0) return;
  atomic_ref<uint64_t> target(*ptr(signal_word, pe));
  if (op == signal_op::set) {
    target.store(value, release);
  } else {
    target.fetch_add(value, release);
  }
}

template <group G, class T>
HEDDLE_FN void team_ref::put_signal(G group, T* dst, const T* src, size_t n, signal* signal_word,
                                    uint64_t value, signal_op op, int pe) const {
  put_nbi(group, dst, src, n, pe);
  update_signal(group, signal_word, value, op, pe);
}

}  // namespace heddle
