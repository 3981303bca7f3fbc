// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "coll/cuda_form.cuh"
#include "coll/exchange_kernels.hpp"

namespace heddle {

template <class Pieces>
void* exchange_on_cuda() {
  return cuda_form::of<exchange_body<Pieces>>()();
}

void* rounds_on_cuda() { return cuda_form::of<rounds_body>()(); }

void* transfers_on_cuda() { return cuda_form::of<transfers_body>()(); }

template void* exchange_on_cuda<equal_pieces>();
template void* exchange_on_cuda<listed_pieces>();

}  // namespace heddle
