// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>

#include "device/cuda/gpu.hpp"

/// Host memory of this process that kernels of all its GPUs load and store, at its own address.
namespace heddle::gpu {

/// Shares it until as many unshare it as have shared it. The first one's device does it for all,
/// and is held as long.
void share_host_memory(const std::shared_ptr<const gpu>& device, void* start, std::size_t bytes);
void unshare_host_memory(void* start) noexcept;

/// How many bytes from there are in one range that is shared, or in none.
std::size_t whole_part(const void* at, std::size_t bytes);

/// Calls copy(to, from, bytes) for parts: CUDA copies nothing across the border of a range.
template <class Copy>
void copy_in_parts(void* to, const void* from, std::size_t bytes, Copy copy) {
  auto* target = static_cast<std::byte*>(to);
  const auto* source = static_cast<const std::byte*>(from);
  while (bytes > 0) {
    const std::size_t part = std::min(whole_part(target, bytes), whole_part(source, bytes));
    copy(target, source, part);
    target += part;
    source += part;
    bytes -= part;
  }
}

}  // namespace heddle::gpu
