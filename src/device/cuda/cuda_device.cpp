// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/cuda_device.hpp"

#include <mutex>
#include <unordered_set>
#include <utility>

#include "device/cuda/cuda_stream.hpp"
#include "support/environment.hpp"
#include "support/log.hpp"
#include "support/throw_error.hpp"

namespace heddle::exec {
namespace {

class cuda_device final : public device {
 public:
  cuda_device(std::shared_ptr<const gpu::gpu> gpu, int pes)
      : shared_(std::move(gpu)),
        gpu_(*shared_),
        room_(std::make_shared<residency>(gpu_, pes)),
        streams_(std::make_shared<stream_pool>(shared_)),
        default_stream_(shared_, room_, streams_) {
    reserve_stacks();
  }
  ~cuda_device() override {
    const gpu::gpu::quiet_scope current(gpu_);
    for (void* memory : memory_) (void)release(memory);
  }
  cuda_device(const cuda_device&) = delete;
  cuda_device& operator=(const cuda_device&) = delete;

  void preload(const kernel& kernel, bool stays) override {
    const gpu::gpu::scope current(gpu_);
    auto* compiled = static_cast<CUkernel>(kernel.on_cuda ? kernel.on_cuda() : nullptr);
    if (!compiled) return;
    CUfunction function = nullptr;
    CUresult loaded = driver().kernel_get_function(&function, compiled);
    if (loaded == CUDA_SUCCESS) loaded = driver().func_load(function);
    gpu::check(driver(), loaded, "loading a kernel to device cuda:{}", gpu_.ordinal());
    if (stays) room_->stays_loaded(reinterpret_cast<CUfunction>(compiled));  // as launches name it
  }
  [[nodiscard]] std::string name() const override { return fmt::format("cuda:{}", gpu_.ordinal()); }
  [[nodiscard]] int max_resident_threads() const override { return room_->max_threads(); }

  // From the device's pool: cuMemAlloc and cuMemFree may wait for kernels that run.
  [[nodiscard]] void* allocate(std::size_t bytes) override {
    const gpu::gpu::scope current(gpu_);
    CUdeviceptr memory = 0;
    const CUresult made = driver().mem_alloc_async(&memory, bytes, gpu_.own_stream());
    if (made == CUDA_ERROR_OUT_OF_MEMORY) {
      const auto [free, total] = gpu_.memory();
      throw_error(HEDDLE_ERROR_OUT_OF_MEMORY,
                  "device cuda:{} ({}) has no {} bytes of memory: it has {} free of {}",
                  gpu_.ordinal(), gpu_.name(), bytes, format_bytes(free), format_bytes(total));
    }
    gpu::check(driver(), made, "asking device cuda:{} for {} bytes", gpu_.ordinal(), bytes);
    auto* pointer = reinterpret_cast<void*>(memory);
    {
      const std::lock_guard lock(mutex_);
      memory_.insert(pointer);
    }
    gpu::check(driver(), driver().stream_synchronize(gpu_.own_stream()),
               "waiting for memory of device cuda:{}", gpu_.ordinal());
    return pointer;
  }
  void free(void* memory) override {
    {
      const std::lock_guard lock(mutex_);
      if (memory_.erase(memory) == 0)
        throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                    "{} is not device memory: it is not the start of what heddle_device_malloc "
                    "gave, or was freed before",
                    memory);
    }
    const gpu::gpu::scope current(gpu_);
    gpu::check(driver(), release(memory), "freeing memory of device cuda:{}", gpu_.ordinal());
  }

  [[nodiscard]] stream& default_stream() override { return default_stream_; }
  [[nodiscard]] std::unique_ptr<stream> create_stream() override {
    return std::make_unique<cuda_stream>(shared_, room_, streams_);
  }
  [[nodiscard]] std::unique_ptr<stream> borrow_stream(void* cuda_stream) override {
    return std::make_unique<class cuda_stream>(shared_, room_, static_cast<CUstream>(cuda_stream));
  }
  [[nodiscard]] std::shared_ptr<event> create_event(bool is_timed) override {
    return std::make_shared<cuda_event>(shared_, is_timed);
  }

 private:
  [[nodiscard]] const gpu::driver& driver() const { return gpu_.functions(); }
  /// Memory for the local variables of heddle's kernels, and of others as large. CUDA makes room
  /// for a kernel that needs more by waiting for all that run on the GPU, and lets no other be
  /// launched meanwhile: not that of another PE of the process either, for which they may wait.
  void reserve_stacks() const {
    constexpr std::size_t bytes_of_a_thread = 4096;
    const gpu::gpu::scope current(gpu_);
    std::size_t now = 0;
    CUresult reserved = driver().ctx_get_limit(&now, CU_LIMIT_STACK_SIZE);
    if (reserved == CUDA_SUCCESS && now < bytes_of_a_thread)
      reserved = driver().ctx_set_limit(CU_LIMIT_STACK_SIZE, bytes_of_a_thread);
    if (reserved != CUDA_SUCCESS)
      log::warn(log::subsystem::device,
                "device cuda:{} gives kernels no {} bytes of stack for each thread: {}; PEs that "
                "share it may wait for each other",
                gpu_.ordinal(), bytes_of_a_thread, gpu::describe(driver(), reserved));
  }
  CUresult release(void* memory) const {
    return driver().mem_free_async(reinterpret_cast<CUdeviceptr>(memory), gpu_.own_stream());
  }

  const std::shared_ptr<const gpu::gpu> shared_;
  const gpu::gpu& gpu_;
  const std::shared_ptr<residency> room_;
  const std::shared_ptr<stream_pool> streams_;
  cuda_stream default_stream_;
  std::mutex mutex_;
  std::unordered_set<void*> memory_;
};

}  // namespace

std::unique_ptr<device> create_cuda_device(std::shared_ptr<const gpu::gpu> gpu, int pes) {
  return std::make_unique<cuda_device>(std::move(gpu), pes);
}

}  // namespace heddle::exec
