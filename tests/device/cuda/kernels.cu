// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// Every AllReduce algorithm and protocol, as the library compiles them: for each architecture, and
// without spills (check_spills.sh).

#include "coll/all_reduce_kernels.hpp"
#include "coll/cuda_form.cuh"

using namespace heddle;

template <class T, class Op, protocol Protocol, algorithm Algorithm>
void* kernel() {
  return cuda_form::of<detail::all_reduce_body<T, Op, Protocol, Algorithm>>()();
}

template <class T, class Op>
int count() {
  return (kernel<T, Op, protocol::ll, algorithm::one_shot>() != nullptr) +
         (kernel<T, Op, protocol::ll128, algorithm::one_shot>() != nullptr) +
         (kernel<T, Op, protocol::simple, algorithm::one_shot>() != nullptr) +
         (kernel<T, Op, protocol::simple, algorithm::two_shot>() != nullptr) +
         (kernel<T, Op, protocol::simple, algorithm::multicast>() != nullptr) +
         (kernel<T, Op, protocol::ll, algorithm::ring>() != nullptr) +
         (kernel<T, Op, protocol::ll128, algorithm::ring>() != nullptr) +
         (kernel<T, Op, protocol::simple, algorithm::ring>() != nullptr) +
         (kernel<T, Op, protocol::ll, algorithm::tree>() != nullptr) +
         (kernel<T, Op, protocol::ll128, algorithm::tree>() != nullptr) +
         (kernel<T, Op, protocol::simple, algorithm::tree>() != nullptr);
}

int count_kernels() {
  return count<float, reduce_sum>() + count<bf16, reduce_sum>() +
         count<uint32_t, reduce_extremum>();
}
