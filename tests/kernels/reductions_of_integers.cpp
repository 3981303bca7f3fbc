// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "kernels/launch_reduction.hpp"

namespace heddle::testing {

template void launch_reduction<std::int8_t>(const stream&, int, int, const reduction_call&);
template void launch_reduction<std::int16_t>(const stream&, int, int, const reduction_call&);
template void launch_reduction<std::int32_t>(const stream&, int, int, const reduction_call&);
template void launch_reduction<std::int64_t>(const stream&, int, int, const reduction_call&);
template void launch_reduction<std::uint8_t>(const stream&, int, int, const reduction_call&);
template void launch_reduction<std::uint16_t>(const stream&, int, int, const reduction_call&);
template void launch_reduction<std::uint32_t>(const stream&, int, int, const reduction_call&);
template void launch_reduction<std::uint64_t>(const stream&, int, int, const reduction_call&);

}  // namespace heddle::testing
