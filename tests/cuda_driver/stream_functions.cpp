// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// Streams, events and what they run: complete when the call returns.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "cuda_driver/state.hpp"

namespace heddle::gpu::host_driver {
namespace {

/// One side of a copy: device memory that the current device may use so, or the host's.
class side {
 public:
  side(CUdeviceptr address, std::size_t bytes, bool writes) : address_(address) {
    if (!is_reserved(address, bytes == 0 ? 1 : bytes)) return;
    on_device_ = true;
    for (CUdeviceptr at = address; at < address + bytes;) {
      auto after = now->mappings.upper_bound(at);
      if (after == now->mappings.begin()) {
        valid = false;
        return;
      }
      const auto& [first, mapped] = *std::prev(after);
      const auto& allowed = writes ? mapped.writers : mapped.readers;
      if (at >= first + mapped.bytes || !allowed.contains(current_device()->ordinal) ||
          mapped.memory->multicast) {
        valid = false;
        return;
      }
      at = first + mapped.bytes;
    }
  }
  void read(std::byte* to, std::size_t offset, std::size_t bytes) const {
    each(
        offset, bytes,
        [&](const mapping& from, std::size_t at, std::size_t part) {
          (void)!::pread(from.memory->file.get(), to, part, static_cast<off_t>(at));
          to += part;
        },
        [&](const std::byte* host) { std::memcpy(to, host, bytes); });
  }
  void write(const std::byte* from, std::size_t offset, std::size_t bytes) const {
    each(
        offset, bytes,
        [&](const mapping& to, std::size_t at, std::size_t part) {
          (void)!::pwrite(to.memory->file.get(), from, part, static_cast<off_t>(at));
          from += part;
        },
        [&](std::byte* host) { std::memcpy(host, from, bytes); });
  }
  void fill(std::byte value, std::size_t bytes) const {
    std::vector<std::byte> part;
    each(
        0, bytes,
        [&](const mapping& to, std::size_t at, std::size_t size) {
          // Zero is what a hole reads as, and quicker.
          if (value == std::byte{0} &&
              ::fallocate(to.memory->file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                          static_cast<off_t>(at), static_cast<off_t>(size)) == 0)
            return;
          part.assign(size, value);
          (void)!::pwrite(to.memory->file.get(), part.data(), size, static_cast<off_t>(at));
        },
        [&](std::byte* host) { std::memset(host, std::to_integer<int>(value), bytes); });
  }
  bool valid = true;

 private:
  template <class OnDevice, class OnHost>
  void each(std::size_t offset, std::size_t bytes, OnDevice on_device, OnHost on_host) const {
    if (!on_device_) return on_host(reinterpret_cast<std::byte*>(address_ + offset));
    for (CUdeviceptr at = address_ + offset, end = at + bytes; at < end;) {
      const auto& [first, mapped] = *std::prev(now->mappings.upper_bound(at));
      const std::size_t part = std::min<std::size_t>(end, first + mapped.bytes) - at;
      on_device(mapped, at - first, part);
      at += part;
    }
  }

  CUdeviceptr address_;
  bool on_device_ = false;
};

stream_state* find_stream(CUstream stream) {
  const auto found = now->streams.find(stream);
  return found == now->streams.end() ? nullptr : found->second.get();
}

CUresult stream_create(CUstream* stream, unsigned) {
  call entered("cuStreamCreate");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  auto* device = current_device();
  if (!device) return CUDA_ERROR_INVALID_CONTEXT;
  *stream = add_stream(*device);
  return CUDA_SUCCESS;
}
CUresult stream_destroy(CUstream stream) {
  call entered("cuStreamDestroy");
  if (!current_device()) return CUDA_ERROR_INVALID_CONTEXT;
  if (now->streams.erase(stream) == 0) return CUDA_ERROR_INVALID_HANDLE;
  return entered.result;
}
CUresult stream_get_ctx(CUstream stream, CUcontext* context) {
  call entered("cuStreamGetCtx");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  const auto* found = find_stream(stream);
  if (!found) return CUDA_ERROR_INVALID_HANDLE;
  *context = reinterpret_cast<CUcontext>(found->device);
  return CUDA_SUCCESS;
}
CUresult stream_synchronize(CUstream stream) {
  call entered("cuStreamSynchronize");
  if (!current_device()) return CUDA_ERROR_INVALID_CONTEXT;
  auto* found = find_stream(stream);
  if (!found) return CUDA_ERROR_INVALID_HANDLE;
  if (found->capture) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  found->has_kernel = false;
  return entered.result;
}
/// CUDA copies nothing that is partly registered.
bool is_copied_whole(CUdeviceptr at, std::size_t bytes) {
  const auto ranges = host_ranges_of(at, bytes);
  return ranges.empty() || ranges.front();
}
bool is_unknown(CUdeviceptr at) { return host_ranges_of(at, 1).empty() && !is_reserved(at, 1); }
CUresult memcpy_async(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  call entered("cuMemcpyAsync");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  if (!current_device()) return CUDA_ERROR_INVALID_CONTEXT;
  const auto* found = find_stream(stream);
  if (!found) return CUDA_ERROR_INVALID_HANDLE;
  if (found->has_kernel && (is_unknown(to) || is_unknown(from))) ++now->locked_waits;
  if (!is_copied_whole(to, bytes) || !is_copied_whole(from, bytes)) return CUDA_ERROR_INVALID_VALUE;
  const side target(to, bytes, true);
  const side source(from, bytes, false);
  if (!target.valid || !source.valid) return CUDA_ERROR_INVALID_VALUE;
  std::vector<std::byte> part(std::min(bytes, std::size_t{1} << 20));
  for (std::size_t at = 0; at < bytes; at += part.size()) {
    const std::size_t size = std::min(part.size(), bytes - at);
    source.read(part.data(), at, size);
    target.write(part.data(), at, size);
  }
  return CUDA_SUCCESS;
}
CUresult stream_write_value64(CUstream stream, CUdeviceptr to, cuuint64_t value, unsigned flags) {
  call entered("cuStreamWriteValue64");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  if (!current_device()) return CUDA_ERROR_INVALID_CONTEXT;
  if (!find_stream(stream)) return CUDA_ERROR_INVALID_HANDLE;
  const side target(to, sizeof value, true);
  if (!target.valid || to % sizeof value != 0 || flags != CU_STREAM_WRITE_VALUE_DEFAULT)
    return CUDA_ERROR_INVALID_VALUE;
  target.write(reinterpret_cast<const std::byte*>(&value), 0, sizeof value);
  return CUDA_SUCCESS;
}
CUresult memset_d8_async(CUdeviceptr to, unsigned char value, std::size_t bytes, CUstream stream) {
  call entered("cuMemsetD8Async");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  if (!current_device()) return CUDA_ERROR_INVALID_CONTEXT;
  if (!find_stream(stream)) return CUDA_ERROR_INVALID_HANDLE;
  const side target(to, bytes, true);
  if (!target.valid) return CUDA_ERROR_INVALID_VALUE;
  target.fill(std::byte{value}, bytes);
  return CUDA_SUCCESS;
}

// The pool's memory is mapped from the start, for its own device.
CUresult mem_alloc_async(CUdeviceptr* memory, std::size_t bytes, CUstream) {
  call entered("cuMemAllocAsync");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  auto* device = current_device();
  if (!device) return CUDA_ERROR_INVALID_CONTEXT;
  if (bytes > now->layout.memory - device->taken) return CUDA_ERROR_OUT_OF_MEMORY;
  unique_fd file(::memfd_create("host-gpu-pool", MFD_CLOEXEC));
  void* start = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (!file || start == MAP_FAILED || ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0)
    return CUDA_ERROR_OUT_OF_MEMORY;
  *memory = reinterpret_cast<CUdeviceptr>(start);
  now->pool[*memory] = bytes;
  now->reservations[*memory] = bytes;
  now->mappings.emplace(
      *memory,
      mapping{bytes,
              std::make_shared<allocation>(std::move(file), bytes, device->ordinal, &device->taken),
              {device->ordinal},
              {device->ordinal}});
  return CUDA_SUCCESS;
}
CUresult mem_free_async(CUdeviceptr memory, CUstream) {
  call entered("cuMemFreeAsync");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  const auto found = now->pool.find(memory);
  if (!current_device()) return CUDA_ERROR_INVALID_CONTEXT;
  if (found == now->pool.end()) return CUDA_ERROR_INVALID_VALUE;
  ::munmap(reinterpret_cast<void*>(memory), found->second);
  now->mappings.erase(memory);
  now->reservations.erase(memory);
  now->pool.erase(found);
  return CUDA_SUCCESS;
}

CUresult event_create(CUevent* event, unsigned flags) {
  call entered("cuEventCreate");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  auto made = std::make_unique<event_state>();
  made->timed = (flags & CU_EVENT_DISABLE_TIMING) == 0;
  *event = reinterpret_cast<CUevent>(made.get());
  now->events[*event] = std::move(made);
  return CUDA_SUCCESS;
}
CUresult event_destroy(CUevent event) {
  call entered("cuEventDestroy");
  if (!current_device()) return CUDA_ERROR_INVALID_CONTEXT;
  return now->events.erase(event) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult event_record(CUevent event, CUstream stream) {
  call entered("cuEventRecord");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  const auto* found = find_stream(stream);
  if (!found) return CUDA_ERROR_INVALID_HANDLE;
  auto& recorded = *now->events.at(event);
  recorded = {recorded.timed, true, found->capture, std::chrono::steady_clock::now()};
  return CUDA_SUCCESS;
}
CUresult event_synchronize(CUevent event) {
  call entered("cuEventSynchronize");
  if (!current_device()) return CUDA_ERROR_INVALID_CONTEXT;
  return now->events.at(event)->capture ? CUDA_ERROR_CAPTURED_EVENT : entered.result;
}
CUresult event_elapsed_time(float* milliseconds, CUevent start, CUevent end) {
  call entered("cuEventElapsedTime");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  if (!current_device()) return CUDA_ERROR_INVALID_CONTEXT;
  const auto& from = *now->events.at(start);
  const auto& to = *now->events.at(end);
  if (!from.recorded || !to.recorded || !from.timed || !to.timed) return CUDA_ERROR_INVALID_HANDLE;
  *milliseconds = std::chrono::duration<float, std::milli>(to.at - from.at).count();
  return CUDA_SUCCESS;
}
CUresult stream_wait_event(CUstream stream, CUevent event, unsigned) {
  call entered("cuStreamWaitEvent");
  auto* found = find_stream(stream);
  if (!found) return CUDA_ERROR_INVALID_HANDLE;
  now->event_waits += now->events.at(event)->recorded ? 1 : 0;  // CUDA does nothing for others
  const auto& waited = *now->events.at(event);
  if (!waited.recorded || waited.capture == found->capture) return entered.result;
  if (found->capture) return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  const bool goes_on = std::any_of(now->streams.begin(), now->streams.end(), [&](const auto& each) {
    return each.second->capture == waited.capture;
  });
  if (!goes_on) return CUDA_ERROR_CAPTURED_EVENT;
  found->capture = waited.capture;
  return entered.result;
}
#if CUDA_VERSION >= 13000
CUresult stream_get_capture_info(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                 CUgraph*, const CUgraphNode**, const CUgraphEdgeData**,
                                 std::size_t*) {
#else
CUresult stream_get_capture_info(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                 CUgraph*, const CUgraphNode**, std::size_t*) {
#endif
  call entered("cuStreamGetCaptureInfo");
  const auto* found = find_stream(stream);
  if (!found) return CUDA_ERROR_INVALID_HANDLE;
  *status = found->capture ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  *id = found->capture;
  return entered.result;
}
CUresult launch_host_func(CUstream, CUhostFn function, void* data) {
  {
    call entered("cuLaunchHostFunc");
    if (entered.result != CUDA_SUCCESS) return entered.result;
  }
  function(data);
  return CUDA_SUCCESS;
}
CUresult kernel_get_function(CUfunction* function, CUkernel kernel) {
  call entered("cuKernelGetFunction");
  if (!current_device()) return CUDA_ERROR_INVALID_CONTEXT;
  *function = reinterpret_cast<CUfunction>(kernel);
  return entered.result;
}
CUresult func_load(CUfunction) {
  call entered("cuFuncLoad");
  return current_device() ? entered.result : CUDA_ERROR_INVALID_CONTEXT;
}
CUresult launch_kernel_ex(const CUlaunchConfig* config, CUfunction, void**, void**) {
  call entered("cuLaunchKernelEx");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  auto* found = find_stream(config->hStream);
  if (!found) return CUDA_ERROR_INVALID_HANDLE;
  if (!now->layout.accepts_kernels) return CUDA_ERROR_NOT_SUPPORTED;
  ++now->launches;
  found->has_kernel = !found->capture;
  return CUDA_SUCCESS;
}
CUresult occupancy_max_active_blocks(int* blocks, CUfunction, int, std::size_t) {
  call entered("cuOccupancyMaxActiveBlocksPerMultiprocessor");
  *blocks = now->layout.blocks_on_each;
  return entered.result;
}

}  // namespace

void add_stream_functions(driver& table) {
  table.stream_create = stream_create;
  table.stream_destroy = stream_destroy;
  table.stream_synchronize = stream_synchronize;
  table.stream_write_value64 = stream_write_value64;
  table.memcpy_async = memcpy_async;
  table.memset_d8_async = memset_d8_async;
  table.mem_alloc_async = mem_alloc_async;
  table.mem_free_async = mem_free_async;
  table.event_create = event_create;
  table.event_destroy = event_destroy;
  table.event_record = event_record;
  table.event_synchronize = event_synchronize;
  table.event_elapsed_time = event_elapsed_time;
  table.stream_wait_event = stream_wait_event;
  table.stream_get_capture_info = stream_get_capture_info;
  table.stream_get_ctx = stream_get_ctx;
  table.launch_host_func = launch_host_func;
  table.kernel_get_function = kernel_get_function;
  table.func_load = func_load;
  table.launch_kernel_ex = launch_kernel_ex;
  table.occupancy_max_active_blocks = occupancy_max_active_blocks;
}

}  // namespace heddle::gpu::host_driver
