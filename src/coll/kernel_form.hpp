// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/heddle.h>

#include <heddle/device/group.hpp>

namespace heddle {

/// The library's kernels are bodies: objects that any block calls with `Body::arguments`. A form is
/// how a compiler's kernels are started.

/// A host compiler's: by a function for one thread of a block.
struct host_form {
  using type = heddle_kernel_entry_t;
  template <class Body>
  static type of() {
    return [](const void* arguments, const void* block) {
      Body{}(*static_cast<const host_block*>(block),
             *static_cast<const typename Body::arguments*>(arguments));
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
