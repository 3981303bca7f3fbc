// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "kernels/launch_reduction.hpp"

namespace heddle::testing {

template void launch_reduction<bf16>(const stream&, int, int, const reduction_call&);
template void launch_reduction<f8_e4m3>(const stream&, int, int, const reduction_call&);
template void launch_reduction<f8_e5m2>(const stream&, int, int, const reduction_call&);

}  // namespace heddle::testing
