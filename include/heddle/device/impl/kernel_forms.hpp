// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/heddle.h>
#include <heddle/device/group.hpp>

/// Every heddle_init from now on loads the kernel to its GPU, until the library is to forget it
/// again. For what is below, which calls before the program's main.
extern "C" HEDDLE_API void heddle_preload_kernel(const heddle_kernel_t* kernel);
extern "C" HEDDLE_API void heddle_forget_kernel(const heddle_kernel_t* kernel);

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
template <class Call>
void* find_form() {
  return find_cuda_kernel(reinterpret_cast<const void*>(&run_call<Call>));
}

/// Has the kernel loaded before anything runs: CUDA does it at the first launch, with a lock for
/// which the PEs of a process wait, while what runs may wait for what they are to launch.
template <class Call>
class preloaded {
 public:
  static const preloaded* one() { return &one_; }

 private:
  preloaded() { heddle_preload_kernel(&kernel_); }
  ~preloaded() { heddle_forget_kernel(&kernel_); }  // at the program's end, or its library's

  const heddle_kernel_t kernel_{nullptr, &find_form<Call>};
  static const preloaded one_;
};
template <class Call>
const preloaded<Call> preloaded<Call>::one_;
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
  forms.on_cuda = &find_form<Call>;
  (void)preloaded<Call>::one();
#endif
  return forms;
}

}  // namespace heddle::detail
