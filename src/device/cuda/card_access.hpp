// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "device/cuda/gpu.hpp"
#include "support/unique_fd.hpp"

namespace heddle::gpu {

/// How network cards read and write a GPU's memory themselves (GPUDirect RDMA).
class card_access {
 public:
  explicit card_access(std::shared_ptr<const gpu> gpu);

  /// Why they do not; empty if they do.
  [[nodiscard]] const std::string& why_not() const { return why_not_; }
  [[nodiscard]] int ordinal() const { return gpu_->ordinal(); }
  [[nodiscard]] bool has_dmabufs() const {
    return gpu_->attribute(CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED) != 0;
  }
  /// A dmabuf of mapped memory; start and size are multiples of pages. Throws HEDDLE_ERROR_SYSTEM.
  [[nodiscard]] unique_fd share(void* start, std::size_t size) const;
  /// What cards have written, and told this processor of, is seen by kernels from now on, on every
  /// GPU.
  void flush() const;

 private:
  std::shared_ptr<const gpu> gpu_;
  std::string why_not_;
  bool needs_flush_ = false;
};

}  // namespace heddle::gpu
