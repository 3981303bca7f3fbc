// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/heddle.h>

#include <heddle/device/coll/all_reduce_hierarchical.hpp>
#include <heddle/device/coll/all_reduce_one_shot.hpp>
#include <heddle/device/coll/all_reduce_ring.hpp>
#include <heddle/device/coll/all_reduce_tree.hpp>
#include <heddle/device/coll/all_reduce_two_shot.hpp>
#include <heddle/device/coll/reduce_scatter_in_rounds.hpp>

#include <vector>

#include "coll/kernel_form.hpp"
#include "coll/plan.hpp"

namespace heddle {

/// What the reductions of a type are made with, each with its own of these.
struct reduction_parameters {
  int32_t divisor = 0;
  uint64_t operand = 0;             ///< the bits that an extremum flips, or a scaled sum's factor
  const void* factor_at = nullptr;  ///< where the factor is instead, in memory of the device

  template <class T, class Op>
  HEDDLE_FN Op op() const {
    if constexpr (standard::is_same_v<Op, reduce_sum>) {
      using factor = typename accumulator<T>::type;
      if (factor_at) return Op::scaled_by(*static_cast<const factor*>(factor_at));
      return {divisor, operand};
    } else if constexpr (standard::is_same_v<Op, reduce_extremum>) {
      return {operand};
    } else {
      return {};
    }
  }
};
/// In a team of n_pes.
reduction_parameters parameters_of(heddle_type_t type, heddle_op_t op, int n_pes);
/// Of a sum that is multiplied by a factor: the bits of an accumulator, or, if not null, where the
/// kernel finds one.
reduction_parameters parameters_of_scaled_sum(std::uint64_t bits, const void* on_device);

/// An AllReduce as the library's kernels take it.
struct typed_all_reduce_args : all_reduce_args, reduction_parameters {
  algorithm algo = algorithm::one_shot;
  protocol proto = protocol::simple;

  /// How it goes. The same on every PE.
  void set(const plan& plan) {
    algo = plan.algo;
    proto = plan.proto;
    wide = plan.wide;
    stores = plan.streaming ? detail::stores::streaming : detail::stores::cached;
  }
  void set(const reduction_parameters& of) { static_cast<reduction_parameters&>(*this) = of; }
};

/// The kernel of an element type and a reduction, for all plans: takes typed_all_reduce_args.
heddle_kernel_t all_reduce_kernel(heddle_type_t type, heddle_op_t op);
/// Those of all types and reductions.
std::vector<heddle_kernel_t> all_reduce_kernels();

/// Those of one element type, in the form of the compiler that instantiates it: the host's
/// (all_reduce_<type>.cpp) or CUDA's (all_reduce_<type>.cu). Each type has files of its own, so
/// that they compile side by side. Signed integers have those of unsigned ones.
template <class T, class Form>
struct all_reduce_kernels_of {
  static typename Form::type find(heddle_op_t op);
};

namespace detail {

/// For any block. One kernel has all algorithms: for CUDA the functions that they share are made
/// once for each kernel.
template <class T, class Op>
struct all_reduce_body {
  using arguments = typed_all_reduce_args;

  template <block_group B>
  HEDDLE_FN void operator()(const B& block, const arguments& args) const {
    switch (args.proto) {
      case protocol::simple:
        return by_simple(block, args);
      case protocol::ll:
        return by<protocol::ll>(block, args);
      case protocol::ll128:
        return by<protocol::ll128>(block, args);
    }
  }

 private:
  template <block_group B>
  HEDDLE_FN static void by_simple(const B& block, const arguments& args) {
    switch (args.algo) {
      case algorithm::two_shot:
      case algorithm::multicast:
        return run<protocol::simple, algorithm::two_shot>(block, args);
      case algorithm::hierarchical:
        return run<protocol::simple, algorithm::hierarchical>(block, args);
      default:
        return by<protocol::simple>(block, args);
    }
  }

  template <protocol Protocol, block_group B>
  HEDDLE_FN static void by(const B& block, const arguments& args) {
    switch (args.algo) {
      case algorithm::one_shot:
        return run<Protocol, algorithm::one_shot>(block, args);
      case algorithm::ring:
        return run<Protocol, algorithm::ring>(block, args);
      case algorithm::tree:
        return run<Protocol, algorithm::tree>(block, args);
      default:
        return;  // none that choose_reduction gives
    }
  }

  template <protocol Protocol, algorithm Algorithm>
  static constexpr bool has_lone_form = is_direct(Algorithm) && Protocol != protocol::ll128;

  template <protocol Protocol, algorithm Algorithm, block_group B>
  HEDDLE_APART HEDDLE_COLD HEDDLE_FN static void run(const B& block, const arguments& args) {
    const Op op = args.template op<T, Op>();
    // Few bytes by a host's usual block, for which there are fewer questions to ask.
    if constexpr (standard::is_same_v<B, host_block> && has_lone_form<Protocol, Algorithm>)
      if (block.is_alone()) return run_by<Protocol, Algorithm>(lone_thread_block{}, args, op);
    run_by<Protocol, Algorithm>(block, args, op);
  }

  template <protocol Protocol, algorithm Algorithm, block_group B>
  HEDDLE_HOT HEDDLE_FN static void run_by(const B& block, const arguments& args, const Op& op) {
    if constexpr (Algorithm == algorithm::one_shot)
      all_reduce_one_shot<Protocol, T, Op>(block, args, op);
    if constexpr (Algorithm == algorithm::two_shot)
      all_reduce_two_shot<T, Op>(block, args, op, args.algo == algorithm::multicast);
    if constexpr (Algorithm == algorithm::hierarchical)
      all_reduce_hierarchical<T, Op>(block, args, op);
    if constexpr (Algorithm == algorithm::ring) all_reduce_ring<Protocol, T, Op>(block, args, op);
    if constexpr (Algorithm == algorithm::tree) {
      if (Protocol == protocol::simple && args.kind == reduce_kind::reduce_scatter)
        return reduce_scatter_in_rounds<T, Op>(block, args, op);
      all_reduce_tree<Protocol, T, Op>(block, args, op);
    }
  }
};

}  // namespace detail

template <class T, class Form>
typename Form::type all_reduce_kernels_of<T, Form>::find(heddle_op_t op) {
  switch (op) {
    case HEDDLE_SUM:
    case HEDDLE_AVG:
      return Form::template of<detail::all_reduce_body<T, reduce_sum>>();
    case HEDDLE_PROD:
      return Form::template of<detail::all_reduce_body<T, reduce_prod>>();
    case HEDDLE_MIN:
    case HEDDLE_MAX:
      return Form::template of<detail::all_reduce_body<T, reduce_extremum>>();
  }
  return nullptr;
}

// Instantiated in files of their own.
extern template struct all_reduce_kernels_of<uint8_t, host_form>;
extern template struct all_reduce_kernels_of<uint16_t, host_form>;
extern template struct all_reduce_kernels_of<uint32_t, host_form>;
extern template struct all_reduce_kernels_of<uint64_t, host_form>;
extern template struct all_reduce_kernels_of<f8_e4m3, host_form>;
extern template struct all_reduce_kernels_of<f8_e5m2, host_form>;
extern template struct all_reduce_kernels_of<f16, host_form>;
extern template struct all_reduce_kernels_of<bf16, host_form>;
extern template struct all_reduce_kernels_of<float, host_form>;
extern template struct all_reduce_kernels_of<double, host_form>;
extern template struct all_reduce_kernels_of<uint8_t, cuda_form>;
extern template struct all_reduce_kernels_of<uint16_t, cuda_form>;
extern template struct all_reduce_kernels_of<uint32_t, cuda_form>;
extern template struct all_reduce_kernels_of<uint64_t, cuda_form>;
extern template struct all_reduce_kernels_of<f8_e4m3, cuda_form>;
extern template struct all_reduce_kernels_of<f8_e5m2, cuda_form>;
extern template struct all_reduce_kernels_of<f16, cuda_form>;
extern template struct all_reduce_kernels_of<bf16, cuda_form>;
extern template struct all_reduce_kernels_of<float, cuda_form>;
extern template struct all_reduce_kernels_of<double, cuda_form>;

}  // namespace heddle
