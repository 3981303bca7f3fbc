// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "device/cuda/driver.hpp"

namespace heddle::gpu {

/// Physical memory of a device, or a multicast object, held by its handle; a mapping keeps it
/// beyond that.
class physical_memory {
 public:
  physical_memory() = default;
  physical_memory(const driver& driver, CUmemGenericAllocationHandle handle)
      : driver_(&driver), handle_(handle) {}
  physical_memory(physical_memory&& other) noexcept
      : driver_(std::exchange(other.driver_, nullptr)), handle_(other.handle_) {}
  physical_memory& operator=(physical_memory&& other) noexcept {
    std::swap(driver_, other.driver_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~physical_memory() {
    if (driver_) driver_->mem_release(handle_);
  }
  [[nodiscard]] CUmemGenericAllocationHandle handle() const { return handle_; }

 private:
  const driver* driver_ = nullptr;
  CUmemGenericAllocationHandle handle_ = 0;
};

}  // namespace heddle::gpu
