// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/impl/copy.hpp>
#include <heddle/device/team.hpp>

namespace heddle {

namespace detail {

/// n elements by all threads of the group together, without a sync. CUDA: no more than one for each
/// thread are moved without a call, which would take longer than they do.
template <group G, class T>
HEDDLE_FN void copy_elements(G group, T* dst, const T* src, size_t n, stores how) {
  static_assert(standard::is_trivially_copyable_v<T>);
#if HEDDLE_ON_CUDA
  if constexpr (standard::is_copy_assignable_v<T> && sizeof(T) <= sizeof(vector16)) {
    if (n <= static_cast<size_t>(group.size())) {
      const auto i = static_cast<size_t>(group.rank());
      if (i < n) dst[i] = src[i];
      return;
    }
  }
#endif
  copy(group, dst, src, n * sizeof(T), how);
}

}  // namespace detail

template <class T>
HEDDLE_FN T* team_ref::ptr(T* symmetric, int pe) const {
  if (slots_ && slots_[pe] < 0) return nullptr;
  const int64_t offset =
      slots_ ? (slots_[pe] - my_slot_) * slot_stride_ : (pe - my_pe_) * pe_stride_;
  return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(symmetric) +
                              static_cast<uintptr_t>(offset));
}

template <group G, class T>
HEDDLE_FN void team_ref::put_nbi(G group, T* dst, const T* src, size_t n, int pe) const {
  if (is_remote(pe)) {
    group.sync();
    if (group.rank() == 0) apart().remote_put(dst, src, n * sizeof(T), pe, false);
    return;
  }
  detail::copy_elements(group, ptr(dst, pe), src, n, stores_for(n * sizeof(T)));
}

template <group G, class T>
HEDDLE_FN void team_ref::put(G group, T* dst, const T* src, size_t n, int pe) const {
  if (is_remote(pe)) {
    group.sync();
    if (group.rank() == 0) apart().remote_put(dst, src, n * sizeof(T), pe, true);
  } else {
    detail::copy_elements(group, ptr(dst, pe), src, n, stores_for(n * sizeof(T)));
  }
  group.sync();
}

template <group G, class T>
HEDDLE_FN void team_ref::get_nbi(G group, T* dst, const T* src, size_t n, int pe) const {
  if (is_remote(pe)) {
    group.sync();
    if (group.rank() == 0) apart().remote_get(dst, src, n * sizeof(T), pe, false);
    return;
  }
  detail::copy_elements(group, dst, ptr(src, pe), n, stores_for(n * sizeof(T)));
}

template <group G, class T>
HEDDLE_FN void team_ref::get(G group, T* dst, const T* src, size_t n, int pe) const {
  if (is_remote(pe)) {
    group.sync();
    if (group.rank() == 0) apart().remote_get(dst, src, n * sizeof(T), pe, true);
  } else {
    detail::copy_elements(group, dst, ptr(src, pe), n, stores_for(n * sizeof(T)));
  }
  group.sync();
}

template <group G, class T>
HEDDLE_FN void team_ref::iput(G group, T* dst, const T* src, size_t dst_stride, size_t src_stride,
                              size_t n, int pe) const {
  static_assert(standard::is_trivially_copyable_v<T> && sizeof(T) <= command::most_unit);
  group.sync();
  if (is_remote(pe)) {
    if (group.rank() == 0)
      apart().remote_strided(command_kind::iput, dst, src, dst_stride, src_stride, sizeof(T), n,
                             pe);
  } else {
    T* target = ptr(dst, pe);
    for (auto i = static_cast<size_t>(group.rank()); i < n; i += static_cast<size_t>(group.size()))
      target[i * dst_stride] = src[i * src_stride];
  }
  group.sync();
}

template <group G, class T>
HEDDLE_FN void team_ref::iget(G group, T* dst, const T* src, size_t dst_stride, size_t src_stride,
                              size_t n, int pe) const {
  static_assert(standard::is_trivially_copyable_v<T> && sizeof(T) <= command::most_unit);
  group.sync();
  if (is_remote(pe)) {
    if (group.rank() == 0)
      apart().remote_strided(command_kind::iget, src, dst, src_stride, dst_stride, sizeof(T), n,
                             pe);
  } else {
    const T* source = ptr(src, pe);
    for (auto i = static_cast<size_t>(group.rank()); i < n; i += static_cast<size_t>(group.size()))
      dst[i * dst_stride] = source[i * src_stride];
  }
  group.sync();
}

template <class T>
HEDDLE_FN void team_ref::p(T* dst, standard::type_identity_t<T> value, int pe) const {
  static_assert(standard::is_trivially_copyable_v<T>);
  if (is_remote(pe)) return apart().remote_p(dst, &value, sizeof(T), pe);
  T* target = ptr(dst, pe);
  if constexpr (sizeof(T) == 4 || sizeof(T) == 8) {
    store(target, value, ordered_by_fence);
  } else {
    *target = value;
  }
}

template <class T>
HEDDLE_FN T team_ref::g(const T* src, int pe) const {
  static_assert(standard::is_trivially_copyable_v<T> && standard::is_default_constructible_v<T>);
  if (is_remote(pe)) return remote_g(src, pe);
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
  if (is_remote(pe)) return apart().remote_signal(signal_word, value, op, pe);
  atomic_ref<uint64_t> target(*ptr(signal_word, pe));
  if (op == signal_op::set) {
    target.store(value, release);
  } else {
    target.fetch_add(value, release);
  }
}

template <group G, class T>
HEDDLE_FN void team_ref::put_signal_nbi(G group, T* dst, const T* src, size_t n,
                                        signal* signal_word, uint64_t value, signal_op op,
                                        int pe) const {
  if (!is_remote(pe)) return put_signal(group, dst, src, n, signal_word, value, op, pe);
  group.sync();
  if (group.rank() == 0)
    apart().remote_put(dst, src, n * sizeof(T), pe, false, signal_word, value, op);
}

template <group G, class T>
HEDDLE_FN void team_ref::put_signal(G group, T* dst, const T* src, size_t n, signal* signal_word,
                                    uint64_t value, signal_op op, int pe) const {
  if (is_remote(pe)) {
    group.sync();
    if (group.rank() == 0)
      apart().remote_put(dst, src, n * sizeof(T), pe, true, signal_word, value, op);
    group.sync();
    return;
  }
  detail::copy_elements(group, ptr(dst, pe), src, n, stores_for(n * sizeof(T)));
  update_signal(group, signal_word, value, op, pe);
}

}  // namespace heddle
