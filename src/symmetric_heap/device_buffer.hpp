// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "device/cuda/gpu.hpp"
#include "device/cuda/physical_memory.hpp"

namespace heddle {

/// The physical memory of a user's buffer on a device: that of one or more allocations, one behind
/// the other, each from its start, as cuMemMap takes it.
struct device_buffer {
  struct part {
    gpu::physical_memory memory;
    std::size_t bytes;
  };
  std::vector<part> parts;
  /// CUmemAllocationHandleType bits in which all of it can go to other processes.
  unsigned long long handle_types = 0;

  /// Throws HEDDLE_ERROR_INVALID_ARGUMENT, saying what it is and what to do, unless it is memory of
  /// cuMemCreate on this device that begins where its allocation does; HEDDLE_ERROR_NOT_SUPPORTED
  /// for memory of cudaMalloc, which has no handle that can be mapped at another address. `unit`:
  /// what the last part is rounded up to, as far as the allocation goes.
  static device_buffer find(const gpu::gpu& device, const void* buffer, std::size_t bytes,
                            std::size_t unit);
};

}  // namespace heddle
