// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/card_access.hpp"

namespace heddle::gpu {

card_access::card_access(std::shared_ptr<const gpu> gpu) : gpu_(std::move(gpu)) {
  const auto has = [this](CUdevice_attribute which) { return gpu_->attribute(which) != 0; };
  if (!has(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED) ||
      !has(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED)) {
    why_not_ = "CUDA does not let network cards at this GPU's memory";
    return;
  }
  needs_flush_ = gpu_->attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING) <
                 CU_GPU_DIRECT_RDMA_WRITES_ORDERING_ALL_DEVICES;
  if (needs_flush_ && (gpu_->attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS) &
                       CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST) == 0)
    why_not_ = "CUDA neither orders nor flushes what network cards write to this GPU's memory";
}

unique_fd card_access::share(void* start, std::size_t size) const {
  const gpu::scope current(*gpu_);
  int descriptor = -1;
  check(gpu_->functions(),
        gpu_->functions().mem_get_handle_for_address_range(
            &descriptor, reinterpret_cast<CUdeviceptr>(start), size,
            CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0),
        "sharing {} bytes of device cuda:{} with network cards", size, ordinal());
  return unique_fd(descriptor);
}

void card_access::flush() const {
  if (!needs_flush_) return;
  const gpu::scope current(*gpu_);
  check(gpu_->functions(),
        gpu_->functions().flush_gpu_direct_rdma_writes(
            CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
            CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES),
        "waiting for what network cards write to device cuda:{}", ordinal());
}

}  // namespace heddle::gpu
