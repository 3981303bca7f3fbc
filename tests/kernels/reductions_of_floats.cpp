// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "kernels/launch_reduction.hpp"

namespace heddle::testing {

template void launch_reduction<float>(const stream&, int, int, const reduction_call&);
template void launch_reduction<double>(const stream&, int, int, const reduction_call&);
template void launch_reduction<f16>(const stream&, int, int, const reduction_call&);

}  // namespace heddle::testing
