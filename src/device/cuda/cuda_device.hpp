// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "device/cuda/gpu.hpp"
#include "device/device.hpp"

namespace heddle::exec {

/// A GPU as a device of one PE. `pes` PEs have it in common, and kernels of all of them may have to
/// be resident at once: a launch gets its part of the multiprocessors.
///
/// No call waits for other streams of the program, on which another PE's kernel may be waiting for
/// this one: the default stream is one of the PE's own, not CUDA's, which PEs of a process share.
std::unique_ptr<device> create_cuda_device(std::shared_ptr<const gpu::gpu> gpu, int pes);

}  // namespace heddle::exec
