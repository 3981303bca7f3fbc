// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "device/cuda/driver.hpp"

namespace heddle {

/// The addresses of the heaps in GPU memory that one process reaches: slots x stride, and which
/// pieces of them are mapped. PEs that are threads of the process share one, each on a device of
/// its own or several on one: what one maps, all of their devices can reach.
class device_arena {
 public:
  /// Reserves addresses, no memory, from a multiple of `alignment`, a power of two. Throws
  /// HEDDLE_ERROR_OUT_OF_MEMORY if there are not enough.
  device_arena(const gpu::driver& driver, int slots, std::size_t stride, std::size_t alignment);
  /// Unmaps all pieces. No kernel may use them any more.
  ~device_arena();
  device_arena(const device_arena&) = delete;
  device_arena& operator=(const device_arena&) = delete;

  /// The one arena of PEs of a host that are threads of this process; see arena::shared_by_threads.
  static std::shared_ptr<device_arena> shared_by_threads(const gpu::driver& driver,
                                                         const std::string& name, int slots,
                                                         std::size_t stride, std::size_t alignment);

  [[nodiscard]] std::byte* slot(int index) const {
    return base_ + static_cast<std::size_t>(index) * stride_;
  }

  /// Maps physical memory at an offset of a slot, for loads and stores of those devices. Where
  /// another thread has mapped that piece, it is counted: unmap() is called as often as map().
  void map(int slot, std::size_t offset, std::size_t bytes, CUmemGenericAllocationHandle memory,
           std::span<const int> devices);
  void unmap(int slot, std::size_t offset) noexcept;

 private:
  struct piece {
    std::size_t bytes;
    int users;
  };

  const gpu::driver& driver_;
  const int slots_;
  const std::size_t stride_;
  std::byte* base_ = nullptr;
  std::mutex mutex_;
  std::map<std::byte*, piece> pieces_;
};

}  // namespace heddle
