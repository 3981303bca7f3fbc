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

/// An AllReduce as the library's kernels take it.
struct typed_all_reduce_args : all_reduce_args {
  /// Of those, what its reduction needs.
  uint64_t flipped = 0;
  int32_t divisor = 0;

  template <class Op>
  HEDDLE_FN Op op() const {
    if constexpr (standard::is_same_v<Op, reduce_sum>) {
      return {divisor};
    } else if constexpr (standard::is_same_v<Op, reduce_extremum>) {
      return {flipped};
    } else {
      return {};
    }
  }
};

/// What the reduction of a type needs in a team of n_pes.
void set_reduction(typed_all_reduce_args& args, heddle_type_t type, heddle_op_t op, int n_pes);

/// The kernel of a plan for an element type and a reduction: takes typed_all_reduce_args.
heddle_kernel_t all_reduce_kernel(const plan& plan, heddle_type_t type, heddle_op_t op);
/// Those of all plans with that algorithm, of all types and reductions.
std::vector<heddle_kernel_t> all_reduce_kernels_of(algorithm algo);

/// The kernels of one element type, in the form of the compiler that instantiates it: the host's
/// (all_reduce_<type>.cpp) or CUDA's (all_reduce_<type>.cu). Each type has files of its own, so
/// that they compile side by side. Signed integers have those of unsigned ones.
template <class T, class Form>
struct all_reduce_kernels {
  static typename Form::type find(const plan& plan, heddle_op_t op);
};

namespace detail {

/// An algorithm's kernel for any block.
template <class T, class Op, protocol Protocol, algorithm Algorithm>
struct all_reduce_body {
  using arguments = typed_all_reduce_args;
  template <block_group Block>
  HEDDLE_FN void operator()(const Block& block, const arguments& args) const {
    const Op op = args.template op<Op>();
    if constexpr (Algorithm == algorithm::one_shot)
      all_reduce_one_shot<Protocol, T, Op>(block, args, op);
    if constexpr (Algorithm == algorithm::two_shot) all_reduce_two_shot<T, Op>(block, args, op);
    if constexpr (Algorithm == algorithm::multicast)
      all_reduce_two_shot<T, Op, true>(block, args, op);
    if constexpr (Algorithm == algorithm::hierarchical)
      all_reduce_hierarchical<T, Op>(block, args, op);
    if constexpr (Algorithm == algorithm::ring) all_reduce_ring<Protocol, T, Op>(block, args, op);
    if constexpr (Algorithm == algorithm::tree) all_reduce_tree<Protocol, T, Op>(block, args, op);
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
    case HEDDLE_MAX:
      return detail::find_all_reduce<T, reduce_extremum, Form>(plan);
  }
  return nullptr;
}

// Instantiated in files of their own.
extern template struct all_reduce_kernels<uint8_t, host_form>;
extern template struct all_reduce_kernels<uint16_t, host_form>;
extern template struct all_reduce_kernels<uint32_t, host_form>;
extern template struct all_reduce_kernels<uint64_t, host_form>;
extern template struct all_reduce_kernels<f8_e4m3, host_form>;
extern template struct all_reduce_kernels<f8_e5m2, host_form>;
extern template struct all_reduce_kernels<f16, host_form>;
extern template struct all_reduce_kernels<bf16, host_form>;
extern template struct all_reduce_kernels<float, host_form>;
extern template struct all_reduce_kernels<double, host_form>;
extern template struct all_reduce_kernels<uint8_t, cuda_form>;
extern template struct all_reduce_kernels<uint16_t, cuda_form>;
extern template struct all_reduce_kernels<uint32_t, cuda_form>;
extern template struct all_reduce_kernels<uint64_t, cuda_form>;
extern template struct all_reduce_kernels<f8_e4m3, cuda_form>;
extern template struct all_reduce_kernels<f8_e5m2, cuda_form>;
extern template struct all_reduce_kernels<f16, cuda_form>;
extern template struct all_reduce_kernels<bf16, cuda_form>;
extern template struct all_reduce_kernels<float, cuda_form>;
extern template struct all_reduce_kernels<double, cuda_form>;

}  // namespace heddle
