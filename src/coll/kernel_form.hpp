// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/heddle.h>

#include <heddle/device/group.hpp>

namespace heddle {

/// The library's kernels are bodies: objects that any block calls with `Body::arguments`. A form is
/// how a compiler's kernels are started.

/// Of a body whose calls are so short that a block of one thread, a host's usual, has it without
/// the questions of larger ones: it has `is_short = true`.
template <class Body>
concept short_body = requires {
  requires Body::is_short;
};

/// A host compiler's: by a function for one thread of a block.
struct host_form {
  using type = heddle_kernel_entry_t;
  template <class Body>
  static type of() {
    return [](const void* arguments, const void* block) {
      const auto& threads = *static_cast<const host_block*>(block);
      const auto& given = *static_cast<const typename Body::arguments*>(arguments);
      if constexpr (short_body<Body>)
        if (threads.is_alone()) return Body{}(lone_thread_block{}, given);
      Body{}(threads, given);
    };
  }
};

/// CUDA's: by a function that gives the CUkernel.
struct cuda_form {
  using type = void* (*)();
  template <class Body>
  static type of();  // cuda_form.cuh
};

}  // namespace heddle
