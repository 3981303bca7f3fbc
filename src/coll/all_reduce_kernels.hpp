// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/heddle.h>

#include <heddle/device/coll/all_reduce_hierarchical.hpp>
#include <heddle/device/coll/all_reduce_one_shot.hpp>
#include <heddle/device/coll/all_reduce_ring.hpp>
#include <heddle/device/coll/all_reduce_tree.hpp>
#include <heddle/device/coll/all_reduce_two_shot.hpp>

#include <vector>

#include "coll/kernel_form.hpp"
#include "coll/plan.hpp"

namespace heddle {

/// The kernel of a plan for an element type and a reduction: takes all_reduce_args.
heddle_kernel_t all_reduce_kernel(const plan& plan, heddle_type_t type, heddle_op_t op);
/// Those of all plans with that algorithm, of all types and reductions.
std::vector<heddle_kernel_t> all_reduce_kernels_of(algorithm algo);

/// The kernels of one element type, in the form of the compiler that instantiates it: the host's
/// (all_reduce_<type>.cpp) or CUDA's (all_reduce_<type>.cu). Each type has files of its own, so
/// that they compile side by side.
template <class T, class Form>
struct all_reduce_kernels {
  static typename Form::type find(const plan& plan, heddle_op_t op);
};

namespace detail {

/// An algorithm's kernel for any block.
template <class T, class Op, protocol Protocol, algorithm Algorithm>
struct all_reduce_body {
  using arguments = all_reduce_args;
  template <block_group Block>
  HEDDLE_FN void operator()(const Block& block, const all_reduce_args& args) const {
    if constexpr (Algorithm == algorithm::one_shot)
      all_reduce_one_shot<Protocol, T, Op>(block, args);
    if constexpr (Algorithm == algorithm::two_shot) all_reduce_two_shot<T, Op>(block, args);
    if constexpr (Algorithm == algorithm::multicast) all_reduce_two_shot<T, Op, true>(block, args);
    if constexpr (Algorithm == algorithm::hierarchical) all_reduce_hierarchical<T, Op>(block, args);
    if constexpr (Algorithm == algorithm::ring) all_reduce_ring<Protocol, T, Op>(block, args);
    if constexpr (Algorithm == algorithm::tree) all_reduce_tree<Protocol, T, Op>(block, args);
  }
};

template <class T, class Op, protocol Protocol, class Form>
typename Form::type find_all_reduce(algorithm algo) {
  switch (algo) {
    case algorithm::one_shot:
      return Form::template of<all_reduce_body<T, Op, Protocol, algorithm::one_shot>>();
    case algorithm::two_shot:
      return Form::template of<all_reduce_body<T, Op, protocol::simple, algorithm::two_shot>>();
    case algorithm::multicast:
      return Form::template of<all_reduce_body<T, Op, protocol::simple, algorithm::multicast>>();
    case algorithm::hierarchical:
      return Form::template of<all_reduce_body<T, Op, protocol::simple, algorithm::hierarchical>>();
    case algorithm::ring:
      return Form::template of<all_reduce_body<T, Op, Protocol, algorithm::ring>>();
    case algorithm::tree:
      return Form::template of<all_reduce_body<T, Op, Protocol, algorithm::tree>>();
    case algorithm::direct:
      break;  // for collectives that combine nothing
  }
  return nullptr;
}

template <class T, class Op, class Form>
typename Form::type find_all_reduce(const plan& plan) {
  switch (plan.proto) {
    case protocol::simple:
      return find_all_reduce<T, Op, protocol::simple, Form>(plan.algo);
    case protocol::ll:
      return find_all_reduce<T, Op, protocol::ll, Form>(plan.algo);
    case protocol::ll128:
      return find_all_reduce<T, Op, protocol::ll128, Form>(plan.algo);
  }
  return nullptr;
}

}  // namespace detail

template <class T, class Form>
typename Form::type all_reduce_kernels<T, Form>::find(const plan& plan, heddle_op_t op) {
  switch (op) {
    case HEDDLE_SUM:
    case HEDDLE_AVG:
      return detail::find_all_reduce<T, reduce_sum, Form>(plan);
    case HEDDLE_PROD:
      return detail::find_all_reduce<T, reduce_prod, Form>(plan);
    case HEDDLE_MIN:
      return detail::find_all_reduce<T, reduce_min, Form>(plan);
    case HEDDLE_MAX:
      return detail::find_all_reduce<T, reduce_max, Form>(plan);
  }
  return nullptr;
}

// Instantiated in files of their own.
extern template struct all_reduce_kernels<int32_t, host_form>;
extern template struct all_reduce_kernels<int64_t, host_form>;
extern template struct all_reduce_kernels<f16, host_form>;
extern template struct all_reduce_kernels<bf16, host_form>;
extern template struct all_reduce_kernels<float, host_form>;
extern template struct all_reduce_kernels<double, host_form>;
extern template struct all_reduce_kernels<int32_t, cuda_form>;
extern template struct all_reduce_kernels<int64_t, cuda_form>;
extern template struct all_reduce_kernels<f16, cuda_form>;
extern template struct all_reduce_kernels<bf16, cuda_form>;
extern template struct all_reduce_kernels<float, cuda_form>;
extern template struct all_reduce_kernels<double, cuda_form>;

}  // namespace heddle
