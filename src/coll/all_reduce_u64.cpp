// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "coll/all_reduce_kernels.hpp"

template struct heddle::all_reduce_kernels_of<heddle::uint64_t, heddle::host_form>;
