// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "coll/all_reduce_kernels.hpp"

namespace heddle {

extern template struct all_reduce_kernels<int32_t>;
extern template struct all_reduce_kernels<int64_t>;
extern template struct all_reduce_kernels<f16>;
extern template struct all_reduce_kernels<bf16>;
extern template struct all_reduce_kernels<float>;
extern template struct all_reduce_kernels<double>;

heddle_kernel_entry_t all_reduce_kernel(const plan& plan, heddle_type_t type, heddle_op_t op) {
  switch (type) {
    case HEDDLE_INT32:
      return all_reduce_kernels<int32_t>::find(plan, op);
    case HEDDLE_INT64:
      return all_reduce_kernels<int64_t>::find(plan, op);
    case HEDDLE_FLOAT16:
      return all_reduce_kernels<f16>::find(plan, op);
    case HEDDLE_BFLOAT16:
      return all_reduce_kernels<bf16>::find(plan, op);
    case HEDDLE_FLOAT32:
      return all_reduce_kernels<float>::find(plan, op);
    case HEDDLE_FLOAT64:
      return all_reduce_kernels<double>::find(plan, op);
  }
  return nullptr;
}

}  // namespace heddle
