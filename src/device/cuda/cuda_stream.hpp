// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include "device/cuda/gpu.hpp"
#include "device/cuda/residency.hpp"
#include "device/cuda/stream_pool.hpp"
#include "device/device.hpp"

namespace heddle::exec {

class cuda_event final : public event {
 public:
  cuda_event(std::shared_ptr<const gpu::gpu> gpu, bool is_timed);
  ~cuda_event() override;
  cuda_event(const cuda_event&) = delete;
  cuda_event& operator=(const cuda_event&) = delete;

  void synchronize() override;
  [[nodiscard]] double milliseconds_since(const event& start) const override;
  [[nodiscard]] CUevent handle() const { return event_; }

 private:
  const std::shared_ptr<const gpu::gpu> shared_;  // an event may outlive its runtime
  const gpu::gpu& gpu_;
  CUevent event_ = nullptr;
};

/// A CUDA stream: one of its own, which waits for no other, or the program's. Its end waits for its
/// work, but for work that is being captured.
class cuda_stream final : public stream {
 public:
  cuda_stream(std::shared_ptr<const gpu::gpu> gpu, std::shared_ptr<residency> room,
              std::shared_ptr<stream_pool> pool);
  /// Throws HEDDLE_ERROR_INVALID_ARGUMENT for a stream of another device.
  cuda_stream(std::shared_ptr<const gpu::gpu> gpu, std::shared_ptr<residency> room,
              CUstream borrowed);
  ~cuda_stream() override;
  cuda_stream(const cuda_stream&) = delete;
  cuda_stream& operator=(const cuda_stream&) = delete;

  [[nodiscard]] std::uint64_t capture() const override;
  void launch(launch_shape shape, const kernel& kernel, const void* arguments, std::size_t bytes,
              failure_callback on_failure) override;
  /// Throws HEDDLE_ERROR_INVALID_USAGE while the stream is captured: a graph would run the function
  /// again and again.
  void enqueue(std::function<void()> work) override;
  void copy(void* dst, const void* src, std::size_t bytes) override;
  void record(std::shared_ptr<event> event) override;
  void wait(std::shared_ptr<event> event) override;
  /// Throws HEDDLE_ERROR_INVALID_USAGE while the stream is captured.
  void synchronize() override;
  [[nodiscard]] bool is_immediate() const override { return false; }
  [[nodiscard]] bool runs_caller() const override;

 private:
  /// What host functions on the stream have thrown first. It outlives the stream with them.
  struct failure_box {
    std::mutex mutex;
    std::exception_ptr first;
  };
  struct host_call;

  [[nodiscard]] const gpu::driver& driver() const { return gpu_.functions(); }

  const std::shared_ptr<const gpu::gpu> shared_;
  const gpu::gpu& gpu_;
  const std::shared_ptr<residency> room_;
  const std::shared_ptr<stream_pool> pool_;  ///< null: the program's stream
  CUstream stream_ = nullptr;
  std::shared_ptr<failure_box> failures_ = std::make_shared<failure_box>();
};

}  // namespace heddle::exec
