// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/cuda_stream.hpp"

#include <utility>

#include "device/cuda/shared_host_memory.hpp"
#include "support/log.hpp"
#include "support/throw_error.hpp"

namespace heddle::exec {
namespace {

/// The stream whose host function this thread runs.
thread_local const void* running_for = nullptr;

cuda_event& as_cuda(event& event) { return static_cast<cuda_event&>(event); }

/// `id` is 0 for a stream that is not captured.
CUresult find_capture(const gpu::driver& driver, CUstream stream, cuuint64_t& id) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
#if CUDA_VERSION >= 13000
  const CUresult found =
      driver.stream_get_capture_info(stream, &status, &id, nullptr, nullptr, nullptr, nullptr);
#else
  const CUresult found =
      driver.stream_get_capture_info(stream, &status, &id, nullptr, nullptr, nullptr);
#endif
  if (status == CU_STREAM_CAPTURE_STATUS_NONE) id = 0;
  return found;
}

}  // namespace

cuda_event::cuda_event(std::shared_ptr<const gpu::gpu> gpu, bool is_timed)
    : shared_(std::move(gpu)), gpu_(*shared_) {
  const gpu::gpu::scope current(gpu_);
  const unsigned flags = is_timed ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING;
  gpu::check(gpu_.functions(), gpu_.functions().event_create(&event_, flags),
             "making an event on device cuda:{}", gpu_.ordinal());
}

cuda_event::~cuda_event() {
  const gpu::gpu::quiet_scope current(gpu_);
  gpu_.functions().event_destroy(event_);
}

void cuda_event::synchronize() {
  const gpu::gpu::scope current(gpu_);
  gpu::check(gpu_.functions(), gpu_.functions().event_synchronize(event_),
             "waiting for an event of device cuda:{}", gpu_.ordinal());
}

double cuda_event::milliseconds_since(const event& start) const {
  const gpu::gpu::scope current(gpu_);
  float elapsed = 0;
  const CUresult result = gpu_.functions().event_elapsed_time(
      &elapsed, static_cast<const cuda_event&>(start).event_, event_);
  if (result == CUDA_ERROR_NOT_READY || result == CUDA_ERROR_INVALID_HANDLE)
    throw_error(HEDDLE_ERROR_INVALID_USAGE,
                "elapsed time of an event that {}; record it and synchronize first",
                result == CUDA_ERROR_NOT_READY ? "is not complete" : "was never recorded");
  gpu::check(gpu_.functions(), result, "asking for the time between events of device cuda:{}",
             gpu_.ordinal());
  return static_cast<double>(elapsed);
}

struct cuda_stream::host_call {
  std::function<void()> work;
  const void* stream;
  std::shared_ptr<failure_box> failures;

  static void CUDA_CB run(void* pointer) {
    const std::unique_ptr<host_call> call(static_cast<host_call*>(pointer));
    running_for = call->stream;
    try {
      call->work();
    } catch (...) {
      const std::lock_guard lock(call->failures->mutex);
      if (!call->failures->first) call->failures->first = std::current_exception();
    }
    running_for = nullptr;
  }
};

cuda_stream::cuda_stream(std::shared_ptr<const gpu::gpu> gpu, std::shared_ptr<residency> room,
                         std::shared_ptr<stream_pool> pool)
    : shared_(std::move(gpu)), gpu_(*shared_), room_(std::move(room)), pool_(std::move(pool)) {
  const gpu::gpu::scope current(gpu_);
  stream_ = pool_->take();
}

cuda_stream::cuda_stream(std::shared_ptr<const gpu::gpu> gpu, std::shared_ptr<residency> room,
                         CUstream borrowed)
    : shared_(std::move(gpu)), gpu_(*shared_), room_(std::move(room)), stream_(borrowed) {
  if (!gpu_.has(borrowed))
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "heddle_stream_from_cuda: {} is not a stream of the primary context of this PE's "
                "device, cuda:{}; make it after cudaSetDevice({})",
                static_cast<void*>(borrowed), gpu_.ordinal(), gpu_.ordinal());
}

cuda_stream::~cuda_stream() {
  const gpu::gpu::quiet_scope current(gpu_);
  cuuint64_t captured = 0;
  CUresult ended = find_capture(driver(), stream_, captured);
  if (captured && !pool_) return;  // the capture goes on, and its work has not begun
  if (ended == CUDA_SUCCESS && !captured) ended = driver().stream_synchronize(stream_);
  if (pool_ && ended == CUDA_SUCCESS) {
    if (captured)
      ended = driver().stream_destroy(stream_);
    else
      pool_->give_back(stream_);
  }
  if (ended != CUDA_SUCCESS)
    log::warn(log::subsystem::device, "a stream of device cuda:{} did not end in order: {}",
              gpu_.ordinal(), gpu::describe(driver(), ended));
}

void cuda_stream::launch(launch_shape shape, const kernel& kernel, const void* arguments,
                         std::size_t, failure_callback on_failure) {
  const gpu::gpu::scope current(gpu_);  // CUDA's runtime too looks for the kernel in it
  auto* function = static_cast<CUfunction>(kernel.on_cuda ? kernel.on_cuda() : nullptr);
  if (!function)
    throw_error(HEDDLE_ERROR_NOT_SUPPORTED,
                "the kernel was not compiled for this PE's device, cuda:{}; compile the file that "
                "launches it with nvcc, for this device's architecture",
                gpu_.ordinal());
  room_->require(shape, function);
  CUlaunchConfig config{};
  config.gridDimX = static_cast<unsigned>(shape.grid);
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = static_cast<unsigned>(shape.block);
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream_;
  void* parameters[] = {const_cast<void*>(arguments)};
  try {
    gpu::check(driver(), driver().launch_kernel_ex(&config, function, parameters, nullptr),
               "launching {} blocks of {} threads on device cuda:{}", shape.grid, shape.block,
               gpu_.ordinal());
  } catch (const error& refused) {
    cuuint64_t captured = 0;  // what a graph was to have has not begun
    if (find_capture(driver(), stream_, captured) == CUDA_SUCCESS && captured == 0 && on_failure)
      on_failure(refused.what());
    throw;
  }
}

std::uint64_t cuda_stream::capture() const {
  const gpu::gpu::scope current(gpu_);
  cuuint64_t id = 0;
  gpu::check(driver(), find_capture(driver(), stream_, id),
             "asking whether a stream of device cuda:{} is captured", gpu_.ordinal());
  return id;
}

void cuda_stream::enqueue(std::function<void()> work) {
  const gpu::gpu::scope current(gpu_);
  if (capture() != 0)
    throw_error(HEDDLE_ERROR_INVALID_USAGE,
                "this call runs a host function in stream order, which a CUDA graph cannot "
                "capture; make the call outside of the capture");
  std::unique_ptr<host_call> call(new host_call{std::move(work), this, failures_});
  gpu::check(driver(), driver().launch_host_func(stream_, host_call::run, call.get()),
             "enqueueing a host function on device cuda:{}", gpu_.ordinal());
  (void)call.release();  // it deletes itself when it has run
}

void cuda_stream::copy(void* dst, const void* src, std::size_t bytes) {
  const gpu::gpu::scope current(gpu_);
  // CUDA holds locks of the context while it copies to and from memory that it does not know, also
  // while it waits for the stream's earlier work; another PE of this process, whom that work waits
  // for, would launch nothing meanwhile.
  if ((!gpu_.knows(dst) || !gpu_.knows(src)) && capture() == 0)
    gpu::check(driver(), driver().stream_synchronize(stream_),
               "waiting for the work before a copy on device cuda:{}", gpu_.ordinal());
  gpu::copy_in_parts(dst, src, bytes, [&](void* to, const void* from, std::size_t part) {
    gpu::check(driver(),
               driver().memcpy_async(reinterpret_cast<CUdeviceptr>(to),
                                     reinterpret_cast<CUdeviceptr>(from), part, stream_),
               "copying {} bytes from {} to {} on device cuda:{}", part, from, to, gpu_.ordinal());
  });
}

void cuda_stream::record(std::shared_ptr<event> event) {
  const gpu::gpu::scope current(gpu_);
  gpu::check(driver(), driver().event_record(as_cuda(*event).handle(), stream_),
             "recording an event on device cuda:{}", gpu_.ordinal());
}

void cuda_stream::wait(std::shared_ptr<event> event) {
  const gpu::gpu::scope current(gpu_);
  gpu::check(driver(),
             driver().stream_wait_event(stream_, as_cuda(*event).handle(), CU_EVENT_WAIT_DEFAULT),
             "making a stream of device cuda:{} wait for an event", gpu_.ordinal());
}

void cuda_stream::synchronize() {
  const gpu::gpu::scope current(gpu_);
  if (capture() != 0)
    throw_error(HEDDLE_ERROR_INVALID_USAGE,
                "a stream that is captured into a CUDA graph cannot be waited for; end the "
                "capture, launch the graph and wait for the stream that it is launched on");
  gpu::check(driver(), driver().stream_synchronize(stream_),
             "waiting for the work of a stream of device cuda:{}", gpu_.ordinal());
  const std::lock_guard lock(failures_->mutex);
  if (failures_->first) std::rethrow_exception(std::exchange(failures_->first, nullptr));
}

bool cuda_stream::runs_caller() const { return running_for == this; }

}  // namespace heddle::exec
