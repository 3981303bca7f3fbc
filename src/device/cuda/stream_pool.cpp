// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/stream_pool.hpp"

namespace heddle::exec {

stream_pool::~stream_pool() {
  const gpu::gpu::quiet_scope current(*gpu_);
  for (CUstream each : spare_) gpu_->functions().stream_destroy(each);
}

CUstream stream_pool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!spare_.empty()) {
      CUstream taken = spare_.back();
      spare_.pop_back();
      return taken;
    }
  }
  CUstream made = nullptr;
  gpu::check(gpu_->functions(), gpu_->functions().stream_create(&made, CU_STREAM_NON_BLOCKING),
             "making a stream on device cuda:{}", gpu_->ordinal());
  return made;
}

void stream_pool::give_back(CUstream stream) {
  const std::lock_guard lock(mutex_);
  spare_.push_back(stream);
}

}  // namespace heddle::exec
