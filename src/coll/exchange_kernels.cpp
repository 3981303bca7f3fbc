// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "coll/exchange_kernels.hpp"

namespace heddle {

#if defined(HEDDLE_HAVE_CUDA_KERNELS)
/// exchange_kernels.cu
template <class Body>
void* on_cuda();
#endif

namespace {

template <class Body>
heddle_kernel_t forms_of() {
  heddle_kernel_t forms{};
  forms.on_host = host_form::of<Body>();
#if defined(HEDDLE_HAVE_CUDA_KERNELS)
  forms.on_cuda = on_cuda<Body>;
#endif
  return forms;
}

}  // namespace

template <class Pieces>
heddle_kernel_t exchange_kernel() {
  return forms_of<exchange_body<Pieces>>();
}
heddle_kernel_t relay_kernel() { return forms_of<relay_body>(); }
heddle_kernel_t domains_gather_kernel() { return forms_of<domains_gather_body>(); }
heddle_kernel_t leaders_kernel() { return forms_of<leaders_body>(); }
heddle_kernel_t rounds_kernel() { return forms_of<rounds_body>(); }
template <class Args>
heddle_kernel_t transfers_kernel() {
  return forms_of<transfers_body<Args>>();
}
template <class Args>
heddle_kernel_t large_transfers_kernel() {
  return forms_of<large_transfers_body<Args>>();
}

template heddle_kernel_t exchange_kernel<equal_pieces>();
template heddle_kernel_t exchange_kernel<listed_pieces>();
template heddle_kernel_t transfers_kernel<few_transfers_args>();
template heddle_kernel_t transfers_kernel<many_transfers_args>();
template heddle_kernel_t large_transfers_kernel<few_transfers_args>();
template heddle_kernel_t large_transfers_kernel<many_transfers_args>();

}  // namespace heddle
