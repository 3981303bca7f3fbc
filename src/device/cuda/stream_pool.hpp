// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "device/cuda/gpu.hpp"

namespace heddle::exec {

/// Streams that were made and are used again. Work waits for what is before it in its hardware
/// queue (CUDA_DEVICE_MAX_CONNECTIONS), and CUDA seems to deal these out to streams in turn, as
/// they are made: on an H200 PEs stood behind each other once more streams had been made than there
/// are queues, few of them alive, and no more since streams are used again.
class stream_pool {
 public:
  explicit stream_pool(std::shared_ptr<const gpu::gpu> gpu) : gpu_(std::move(gpu)) {}
  ~stream_pool();
  stream_pool(const stream_pool&) = delete;
  stream_pool& operator=(const stream_pool&) = delete;

  /// One that waits for no other. In the device's context.
  [[nodiscard]] CUstream take();
  /// With no work left, and not captured.
  void give_back(CUstream stream);

 private:
  const std::shared_ptr<const gpu::gpu> gpu_;
  std::mutex mutex_;
  std::vector<CUstream> spare_;
};

}  // namespace heddle::exec
