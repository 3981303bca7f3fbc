// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

#include "symmetric_heap/host_heap_memory.hpp"

namespace heddle {

/// Heaps in host memory that kernels of GPUs load and store too, at the host's addresses. Growing
/// is a step of all PEs: each lets its device reach what all heaps of this host have grown by, once
/// all have. Where one cannot, none has grown.
class pinned_heap_memory final : public host_heap_memory {
 public:
  struct options {
    std::size_t shared;  ///< bytes at the front of each heap that kernels reach from the start
    std::size_t bytes;   ///< that have memory on return; kernels do not reach the others of them
    std::size_t stride;
    deadline until;                         ///< of making it
    std::chrono::duration<double> timeout;  ///< of growing it
    /// Lets kernels of this PE reach host memory, and no more; throws if it cannot be.
    std::function<void(void* start, std::size_t bytes)> share;
    std::function<void(void* start)> unshare;
    bool apart = false;  ///< no other heap is mapped
  };

  /// Collective over the bootstrap's ranks.
  pinned_heap_memory(bootstrap& bootstrap, options options);
  void grow_to(std::size_t bytes) override;

 private:
  /// A range of all heaps that are mapped here.
  void share_everywhere(std::size_t offset, std::size_t bytes, deadline until);

  bootstrap& bootstrap_;
  const options options_;
};

}  // namespace heddle
