// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "device/device.hpp"

namespace heddle::exec {

/// The program's kernels of which the library was told (heddle_preload_kernel), so far.
std::vector<kernel> preloaded_kernels();

}  // namespace heddle::exec
