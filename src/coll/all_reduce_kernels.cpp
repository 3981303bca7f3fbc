// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "coll/all_reduce_kernels.hpp"

#include <algorithm>

#include "coll/element_types.hpp"

namespace heddle {
namespace {

template <class T>
heddle_kernel_t forms_of(heddle_op_t op) {
  heddle_kernel_t forms{};
  forms.on_host = all_reduce_kernels_of<T, host_form>::find(op);
#if defined(HEDDLE_HAVE_CUDA_KERNELS)
  forms.on_cuda = all_reduce_kernels_of<T, cuda_form>::find(op);
#endif
  return forms;
}

}  // namespace

heddle_kernel_t all_reduce_kernel(heddle_type_t type, heddle_op_t op) {
  switch (type) {
    case HEDDLE_INT8:
    case HEDDLE_UINT8:
      return forms_of<uint8_t>(op);
    case HEDDLE_INT16:
    case HEDDLE_UINT16:
      return forms_of<uint16_t>(op);
    case HEDDLE_INT32:
    case HEDDLE_UINT32:
      return forms_of<uint32_t>(op);
    case HEDDLE_INT64:
    case HEDDLE_UINT64:
      return forms_of<uint64_t>(op);
    case HEDDLE_FLOAT8_E4M3:
      return forms_of<f8_e4m3>(op);
    case HEDDLE_FLOAT8_E5M2:
      return forms_of<f8_e5m2>(op);
    case HEDDLE_FLOAT16:
      return forms_of<f16>(op);
    case HEDDLE_BFLOAT16:
      return forms_of<bf16>(op);
    case HEDDLE_FLOAT32:
      return forms_of<float>(op);
    case HEDDLE_FLOAT64:
      return forms_of<double>(op);
  }
  return {};
}

reduction_parameters parameters_of(heddle_type_t type, heddle_op_t op, int n_pes) {
  const bool is_signed = is_signed_integer(type);
  const bool is_float = is_floating_point(type);
  // Small floats are compared as float.
  const std::size_t bytes = is_float ? std::max(bytes_of(type), sizeof(float)) : bytes_of(type);
  return {.divisor = op == HEDDLE_AVG ? reduce_sum::average_of(n_pes, is_signed).divisor : 0,
          .operand = reduce_extremum::of(op == HEDDLE_MAX, bytes, is_signed, is_float).flipped};
}

reduction_parameters parameters_of_scaled_sum(std::uint64_t bits, const void* on_device) {
  return {.divisor = reduce_sum::scaled, .operand = bits, .factor_at = on_device};
}

std::vector<heddle_kernel_t> all_reduce_kernels() {
  std::vector<heddle_kernel_t> kernels;
  for (int type = 0; type < num_types; ++type)
    for (int op = 0; op < num_ops; ++op)
      kernels.push_back(
          all_reduce_kernel(static_cast<heddle_type_t>(type), static_cast<heddle_op_t>(op)));
  return kernels;
}

}  // namespace heddle
