// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace heddle::gpu {

/// What to expect of several PEs on one GPU here. Kernels of one process's PEs run side by side;
/// those of several processes do where CUDA's Multi-Process Service runs, and take turns otherwise.
std::string describe_sharing();

}  // namespace heddle::gpu
