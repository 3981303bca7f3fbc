// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/group.hpp>
#include <heddle/heddle.hpp>

namespace heddle {

/// Runs `kernel(block, arguments...)` for every thread of `grid` blocks of `block` threads, all
/// resident at the same time, in stream order.
///
/// A kernel is an object whose call operator takes any block and is compiled for every device:
///
///     struct scale {
///       template <heddle::block_group Block>
///       HEDDLE_FN void operator()(Block block, float* x, size_t n, float factor) const {
///         const size_t threads = size_t(block.size()) * block.num_blocks();
///         for (size_t i = size_t(block.rank()) + size_t(block.size()) * block.block_rank(); i < n;
///              i += threads)
///           x[i] *= factor;
///       }
///     };
///     heddle::launch(stream, 4, 256, scale{}, x, n, 0.5f);
///
/// Kernel and arguments are copied and must be trivially copyable. Throws heddle::error if grid or
/// block is not positive or the threads cannot all be resident. On the default stream of the host
/// device the kernel has run on return.
template <class Kernel, class... Args>
void launch(const stream& stream, int grid, int block, Kernel kernel, Args... arguments) {
  auto call = [kernel, arguments...](auto& group) { kernel(group, arguments...); };
  static_assert(standard::is_trivially_copyable_v<decltype(call)>,
                "a kernel and its arguments are copied to the device as bytes");
  detail::check(heddle_launch(
      stream.runtime_handle(), stream.handle(), grid, block,
      [](const void* closure, const void* host_block_pointer) {
        (*static_cast<const decltype(call)*>(closure))(
            *static_cast<const host_block*>(host_block_pointer));
      },
      &call, sizeof call));
}

}  // namespace heddle
