// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/device/impl/kernel_forms.hpp>
#include <heddle/heddle.hpp>

namespace heddle {

namespace detail {

/// Arguments as bytes: a tuple of the standard library need not be trivially copyable.
template <class... Args>
struct argument_pack {};
template <class First, class... Rest>
struct argument_pack<First, Rest...> {
  HEDDLE_FN argument_pack(First given, Rest... others) : first(given), rest(others...) {}
  First first;
  argument_pack<Rest...> rest;
};

/// A kernel and its arguments: what is copied to the device.
template <class Kernel, class... Args>
struct kernel_call {
  Kernel kernel;
  argument_pack<Args...> arguments;

  template <class Block>
  HEDDLE_FN void operator()(const Block& block) const {
    run(block, arguments);
  }

 private:
  template <class Block, class First, class... Rest, class... Taken>
  HEDDLE_FN void run(const Block& block, const argument_pack<First, Rest...>& left,
                     const Taken&... taken) const {
    run(block, left.rest, taken..., left.first);
  }
  template <class Block, class... Taken>
  HEDDLE_FN void run(const Block& block, const argument_pack<>&, const Taken&... taken) const {
    kernel(block, taken...);
  }
};

}  // namespace detail

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
/// A kernel that takes block.warp() on a CUDA device needs blocks of whole warps, a multiple of 32
/// threads. Kernel and arguments are copied and must be trivially copyable. Throws heddle::error if
/// grid or block is not positive or the threads cannot all be resident, or for a CUDA device if
/// nvcc did not compile this file. On the default stream of the host device the kernel has run on
/// return.
template <class Kernel, class... Args>
void launch(const stream& stream, int grid, int block, Kernel kernel, Args... arguments) {
  const detail::kernel_call<Kernel, Args...> call{kernel, {arguments...}};
  static_assert(standard::is_trivially_copyable_v<decltype(call)>,
                "a kernel and its arguments are copied to the device as bytes");
  static_assert(alignof(decltype(call)) <= 128, "copies are aligned to 128 bytes");
  const heddle_kernel_t forms = detail::forms_of<detail::kernel_call<Kernel, Args...>>();
  detail::check(heddle_launch(stream.runtime_handle(), stream.handle(), grid, block, &forms, &call,
                              sizeof call));
}

/// The same for a kernel that calls collectives of the team (collectives.hpp), in the order of the
/// team's other collectives: see heddle_launch_collective. Without a stream it has run on return.
template <class Kernel, class... Args>
void launch_collective(const team& team, on_stream where, int grid, int block, Kernel kernel,
                       Args... arguments) {
  const detail::kernel_call<Kernel, Args...> call{kernel, {arguments...}};
  static_assert(standard::is_trivially_copyable_v<decltype(call)>,
                "a kernel and its arguments are copied to the device as bytes");
  static_assert(alignof(decltype(call)) <= 128, "copies are aligned to 128 bytes");
  const heddle_kernel_t forms = detail::forms_of<detail::kernel_call<Kernel, Args...>>();
  detail::check(heddle_launch_collective(team.handle(), where.handle, grid, block, &forms, &call,
                                         sizeof call));
}

}  // namespace heddle
