// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/heddle.h>

#include <heddle/device/coll/all_reduce_one_shot.hpp>
#include <heddle/device/coll/all_reduce_ring.hpp>
#include <heddle/device/coll/all_reduce_tree.hpp>
#include <heddle/device/coll/all_reduce_two_shot.hpp>

#include "coll/plan.hpp"

namespace heddle {

/// The host kernel of a plan for an element type and a reduction: takes all_reduce_args.
heddle_kernel_entry_t all_reduce_kernel(const plan& plan, heddle_type_t type, heddle_op_t op);

/// The kernels of one element type. Each type is instantiated in a file of its own, so that they
/// compile side by side.
template <class T>
struct all_reduce_kernels {
  static heddle_kernel_entry_t find(const plan& plan, heddle_op_t op);
};

namespace detail {

template <class T, class Op, protocol Protocol, algorithm Algorithm>
void all_reduce_entry(const void* arguments, const void* host_block_pointer) {
  const auto& args = *static_cast<const all_reduce_args*>(arguments);
  const auto& block = *static_cast<const host_block*>(host_block_pointer);
  if constexpr (Algorithm == algorithm::one_shot) all_reduce_one_shot<Protocol, T, Op>(block, args);
  if constexpr (Algorithm == algorithm::two_shot) all_reduce_two_shot<T, Op>(block, args);
  if constexpr (Algorithm == algorithm::ring) all_reduce_ring<Protocol, T, Op>(block, args);
  if constexpr (Algorithm == algorithm::tree) all_reduce_tree<Protocol, T, Op>(block, args);
}

template <class T, class Op, protocol Protocol>
heddle_kernel_entry_t find_all_reduce(algorithm algo) {
  switch (algo) {
    case algorithm::one_shot:
      return all_reduce_entry<T, Op, Protocol, algorithm::one_shot>;
    case algorithm::two_shot:
      return all_reduce_entry<T, Op, protocol::simple, algorithm::two_shot>;
    case algorithm::ring:
      return all_reduce_entry<T, Op, Protocol, algorithm::ring>;
    case algorithm::tree:
      return all_reduce_entry<T, Op, Protocol, algorithm::tree>;
  }
  return nullptr;
}

template <class T, class Op>
heddle_kernel_entry_t find_all_reduce(const plan& plan) {
  return plan.proto == protocol::ll ? find_all_reduce<T, Op, protocol::ll>(plan.algo)
                                    : find_all_reduce<T, Op, protocol::simple>(plan.algo);
}

}  // namespace detail

template <class T>
heddle_kernel_entry_t all_reduce_kernels<T>::find(const plan& plan, heddle_op_t op) {
  switch (op) {
    case HEDDLE_SUM:
      return detail::find_all_reduce<T, reduce_sum>(plan);
    case HEDDLE_PROD:
      return detail::find_all_reduce<T, reduce_prod>(plan);
    case HEDDLE_MIN:
      return detail::find_all_reduce<T, reduce_min>(plan);
    case HEDDLE_MAX:
      return detail::find_all_reduce<T, reduce_max>(plan);
    case HEDDLE_AVG:
      return detail::find_all_reduce<T, reduce_avg>(plan);
  }
  return nullptr;
}

}  // namespace heddle
