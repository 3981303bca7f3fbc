// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/group.hpp>
#include <heddle/device/reduction.hpp>

/// A step along a ring in which combinations travel as what elements are combined as (float for the
/// small ones), so that a result is rounded once, where it is written.
namespace heddle::detail {

template <class T>
using wide = typename accumulator<T>::type;

/// value[i] = received[i], then input[i], combined, and finished if `reduction` says so; written to
/// sent[i], and rounded to output[i]. `received` or `input` may be null, and either target.
template <class T, class Op, group G>
HEDDLE_APART HEDDLE_FN void reduce_wide(G group, const wide<T>* received, const T* input,
                                        wide<T>* sent, T* output, size_t n,
                                        reduce_step<Op> reduction) {
  using acc = accumulator<T>;
  for (auto i = static_cast<size_t>(group.rank()); i < n; i += static_cast<size_t>(group.size())) {
    wide<T> value = received ? received[i] : acc::widen(input[i]);
    if (received && input) value = reduction.combine(value, acc::widen(input[i]));
    value = reduction.finish(value);
    if (sent) sent[i] = value;
    if (output) output[i] = acc::narrow(value);
  }
}

}  // namespace heddle::detail
