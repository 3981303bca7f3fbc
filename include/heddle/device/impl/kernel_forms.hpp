// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/heddle.h>
#include <heddle/device/group.hpp>

namespace heddle::detail {

#if defined(__CUDACC__)
/// The CUkernel of a __global__ function; null if it is not compiled for the current device.
inline void* find_cuda_kernel(const void* symbol) {
  cudaKernel_t found = nullptr;
  return cudaGetKernel(&found, symbol) == cudaSuccess ? found : nullptr;
}

template <class Call>
__global__ void run_call(const __grid_constant__ Call call) {
  call(cuda_block{});
}
#endif

/// The forms of a kernel that is an object with the call operator (block): those that this file's
/// compiler makes.
template <class Call>
heddle_kernel_t forms_of() {
  heddle_kernel_t forms{};
  forms.on_host = [](const void* call, const void* block) {
    (*static_cast<const Call*>(call))(*static_cast<const host_block*>(block));
  };
#if defined(__CUDACC__)
  forms.on_cuda = []() -> void* {
    return find_cuda_kernel(reinterpret_cast<const void*>(&run_call<Call>));
  };
#endif
  return forms;
}

}  // namespace heddle::detail
