// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// AllReduce's kernels, as the library compiles them: for each architecture, and without spills
// where data moves (check_spills.sh).

#include "coll/all_reduce_kernels.hpp"
#include "coll/cuda_form.cuh"

using namespace heddle;

template <class T, class Op>
int count() {
  return cuda_form::of<detail::all_reduce_body<T, Op>>()() != nullptr;
}

int count_kernels() {
  return count<float, reduce_sum>() + count<bf16, reduce_sum>() +
         count<uint32_t, reduce_extremum>();
}
