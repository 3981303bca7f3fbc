// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "coll/cuda_form.cuh"
#include "coll/exchange_kernels.hpp"

namespace heddle {

template <class Body>
void* on_cuda() {
  return cuda_form::of<Body>()();
}

template void* on_cuda<exchange_body<equal_pieces>>();
template void* on_cuda<exchange_body<listed_pieces>>();
template void* on_cuda<relay_body>();
template void* on_cuda<domains_gather_body>();
template void* on_cuda<leaders_body>();
template void* on_cuda<rounds_body>();
template void* on_cuda<transfers_body<few_transfers_args>>();
template void* on_cuda<transfers_body<many_transfers_args>>();
template void* on_cuda<large_transfers_body<few_transfers_args>>();
template void* on_cuda<large_transfers_body<many_transfers_args>>();

}  // namespace heddle
