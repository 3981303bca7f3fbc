// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "coll/all_reduce_kernels.hpp"

namespace heddle {
namespace {

template <class T>
heddle_kernel_t forms_of(const plan& plan, heddle_op_t op) {
  heddle_kernel_t forms{};
  forms.on_host = all_reduce_kernels<T, host_form>::find(plan, op);
#if defined(HEDDLE_HAVE_CUDA_KERNELS)
  forms.on_cuda = all_reduce_kernels<T, cuda_form>::find(plan, op);
#endif
  return forms;
}

}  // namespace

heddle_kernel_t all_reduce_kernel(const plan& plan, heddle_type_t type, heddle_op_t op) {
  switch (type) {
    case HEDDLE_INT32:
      return forms_of<int32_t>(plan, op);
    case HEDDLE_INT64:
      return forms_of<int64_t>(plan, op);
    case HEDDLE_FLOAT16:
      return forms_of<f16>(plan, op);
    case HEDDLE_BFLOAT16:
      return forms_of<bf16>(plan, op);
    case HEDDLE_FLOAT32:
      return forms_of<float>(plan, op);
    case HEDDLE_FLOAT64:
      return forms_of<double>(plan, op);
  }
  return {};
}

std::vector<heddle_kernel_t> all_reduce_kernels_of(algorithm algo) {
  std::vector<heddle_kernel_t> kernels;
  for (const auto proto : {protocol::simple, protocol::ll, protocol::ll128}) {
    if (is_simple_only(algo) && proto != protocol::simple) continue;
    for (int type = 0; type <= HEDDLE_FLOAT64; ++type)
      for (int op = 0; op <= HEDDLE_AVG; ++op)
        kernels.push_back(all_reduce_kernel({.algo = algo, .proto = proto},
                                            static_cast<heddle_type_t>(type),
                                            static_cast<heddle_op_t>(op)));
  }
  return kernels;
}

}  // namespace heddle
