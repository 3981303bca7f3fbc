// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "coll/exchange_kernels.hpp"

namespace heddle {

#if defined(HEDDLE_HAVE_CUDA_KERNELS)
// exchange_kernels.cu
template <class Pieces>
void* exchange_on_cuda();
void* rounds_on_cuda();
void* transfers_on_cuda();
#endif

template <class Pieces>
heddle_kernel_t exchange_kernel() {
  heddle_kernel_t forms{};
  forms.on_host = host_form::of<exchange_body<Pieces>>();
#if defined(HEDDLE_HAVE_CUDA_KERNELS)
  forms.on_cuda = exchange_on_cuda<Pieces>;
#endif
  return forms;
}

heddle_kernel_t rounds_kernel() {
  heddle_kernel_t forms{};
  forms.on_host = host_form::of<rounds_body>();
#if defined(HEDDLE_HAVE_CUDA_KERNELS)
  forms.on_cuda = rounds_on_cuda;
#endif
  return forms;
}

heddle_kernel_t transfers_kernel() {
  heddle_kernel_t forms{};
  forms.on_host = host_form::of<transfers_body>();
#if defined(HEDDLE_HAVE_CUDA_KERNELS)
  forms.on_cuda = transfers_on_cuda;
#endif
  return forms;
}

template heddle_kernel_t exchange_kernel<equal_pieces>();
template heddle_kernel_t exchange_kernel<listed_pieces>();

}  // namespace heddle
