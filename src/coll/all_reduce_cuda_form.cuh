// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/impl/kernel_forms.hpp>

#include "coll/all_reduce_kernels.hpp"

namespace heddle {

template <class Body>
__global__ void __launch_bounds__(most_cuda_threads, 1)
    run_all_reduce(const __grid_constant__ all_reduce_args args) {
  Body{}(cuda_block{}, args);
}

template <class Body>
cuda_form::type cuda_form::of() {
  return []() -> void* {
    return detail::find_cuda_kernel(reinterpret_cast<const void*>(&run_all_reduce<Body>));
  };
}

}  // namespace heddle
