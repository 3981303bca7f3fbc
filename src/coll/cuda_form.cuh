// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/impl/kernel_forms.hpp>

#include "coll/kernel_form.hpp"
#include "coll/plan.hpp"

namespace heddle {

template <class Body>
__global__ void __launch_bounds__(most_cuda_threads, 1)
    run_body(const __grid_constant__ typename Body::arguments args) {
  Body{}(cuda_block{}, args);
}

template <class Body>
cuda_form::type cuda_form::of() {
  return []() -> void* {
    return detail::find_cuda_kernel(reinterpret_cast<const void*>(&run_body<Body>));
  };
}

}  // namespace heddle
