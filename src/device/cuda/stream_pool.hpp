// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "device/cuda/gpu.hpp"

namespace heddle::exec {

/// Streams that were made and are used again. CUDA deals its hardware queues
/// (CUDA_DEVICE_MAX_CONNECTIONS) out to streams in turn, as they are made, and work waits for what
/// is before it in its queue: as long as no more streams are made than there are queues, a PE's
/// kernel never waits behind another's, which may wait for it.
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
