// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "coll/all_reduce_kernels.hpp"
#include "coll/cuda_form.cuh"

template struct heddle::all_reduce_kernels_of<heddle::uint8_t, heddle::cuda_form>;
