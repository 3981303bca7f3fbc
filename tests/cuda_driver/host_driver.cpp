// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "cuda_driver/host_driver.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "support/unique_fd.hpp"

namespace heddle::gpu::host_driver {
namespace {

/// Memory of a device: lives as long as a handle or a mapping refers to it.
struct allocation {
  unique_fd file;
  std::size_t bytes = 0;
  int device = 0;
  int exports = 0;     // CUmemAllocationHandleType bits
  std::size_t* taken;  // of its device
  allocation(unique_fd from, std::size_t size, int of, std::size_t* count)
      : file(std::move(from)), bytes(size), device(of), taken(count) {
    if (taken) *taken += bytes;
  }
  ~allocation() {
    if (taken) *taken -= bytes;
  }
  allocation(const allocation&) = delete;
  allocation& operator=(const allocation&) = delete;
};

struct mapping {
  std::size_t bytes;
  std::shared_ptr<allocation> memory;
  std::set<int> readers, writers;  // devices
};

struct device_state {
  int ordinal = 0;
  std::size_t taken = 0;
  std::size_t contexts = 0;
  std::size_t streams = 0;
};

struct planned_failure {
  int skip;
  CUresult result;
};

struct event_state {
  bool recorded = false;
  std::chrono::steady_clock::time_point at{};
};

struct state {
  machine layout;
  bool initialised = false;
  std::vector<std::unique_ptr<device_state>> devices;
  std::map<CUdeviceptr, std::size_t> reservations;
  std::map<CUdeviceptr, mapping> mappings;
  std::map<CUmemGenericAllocationHandle, std::shared_ptr<allocation>> handles;
  CUmemGenericAllocationHandle next_handle = 1;
  std::map<std::string, planned_failure> failures;
  std::map<CUevent, std::unique_ptr<event_state>> events;
  std::map<CUdeviceptr, std::unique_ptr<std::byte[]>> pool;
  std::map<void*, std::size_t> host_memory;
  bool capturing = false;
};

std::mutex mutex;
std::unique_ptr<state> now;
thread_local std::vector<CUcontext> context_stack;

/// What every function begins with: the lock, and a failure that a test has asked for.
class call {
 public:
  explicit call(const char* function) : lock_(mutex) {
    if (!now->initialised && std::strcmp(function, "cuInit") != 0)
      result = CUDA_ERROR_NOT_INITIALIZED;
    const auto planned = now->failures.find(function);
    if (planned == now->failures.end()) return;
    if (planned->second.skip-- > 0) return;
    result = planned->second.result;
    now->failures.erase(planned);
  }
  CUresult result = CUDA_SUCCESS;

 private:
  std::lock_guard<std::mutex> lock_;
};

bool is_device(int device) { return device >= 0 && device < static_cast<int>(now->devices.size()); }

bool reaches(int from, int to) { return from == to || !now->layout.apart.contains({from, to}); }

bool is_granular(std::size_t bytes) { return bytes > 0 && bytes % now->layout.granularity == 0; }

device_state* current_device() {
  return context_stack.empty() ? nullptr : reinterpret_cast<device_state*>(context_stack.back());
}

bool is_reserved(CUdeviceptr start, std::size_t bytes) {
  auto after = now->reservations.upper_bound(start);
  if (after == now->reservations.begin()) return false;
  const auto& [first, size] = *std::prev(after);
  return start - first <= size && bytes <= size - (start - first);
}

/// Visits the mappings of a range that consists of whole ones; false if it does not.
template <class Visit>
bool visit_whole(CUdeviceptr start, std::size_t bytes, Visit visit) {
  std::vector<std::map<CUdeviceptr, mapping>::iterator> whole;
  for (CUdeviceptr at = start; at < start + bytes;) {
    const auto found = now->mappings.find(at);
    if (found == now->mappings.end() || found->second.bytes > start + bytes - at) return false;
    whole.push_back(found);
    at += found->second.bytes;
  }
  for (auto each : whole) visit(each);
  return !whole.empty();
}

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
      if (at >= first + mapped.bytes || !allowed.contains(current_device()->ordinal)) {
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

CUresult get_error_name(CUresult result, const char** name) {
  switch (result) {
    case CUDA_ERROR_OUT_OF_MEMORY:
      return *name = "CUDA_ERROR_OUT_OF_MEMORY", CUDA_SUCCESS;
    case CUDA_ERROR_INVALID_VALUE:
      return *name = "CUDA_ERROR_INVALID_VALUE", CUDA_SUCCESS;
    default:
      return *name = "CUDA_ERROR_OF_THE_HOST_DRIVER", CUDA_SUCCESS;
  }
}
CUresult get_error_string(CUresult result, const char** text) {
  *text = result == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory" : "a failed call";
  return CUDA_SUCCESS;
}

CUresult init(unsigned) {
  call entered("cuInit");
  if (entered.result == CUDA_SUCCESS) now->initialised = true;
  return entered.result;
}
CUresult driver_get_version(int* version) {
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}
CUresult device_get_count(int* count) {
  call entered("cuDeviceGetCount");
  *count = static_cast<int>(now->devices.size());
  return entered.result;
}
CUresult device_get(CUdevice* device, int ordinal) {
  call entered("cuDeviceGet");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  if (!is_device(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}
CUresult device_get_name(char* name, int length, CUdevice device) {
  std::snprintf(name, static_cast<std::size_t>(length), "host memory as GPU %d", device);
  return CUDA_SUCCESS;
}
CUresult device_get_uuid(CUuuid* uuid, CUdevice device) {
  std::memset(uuid, 0, sizeof *uuid);
  std::snprintf(uuid->bytes, sizeof uuid->bytes, "host-gpu-%d", device);
  return CUDA_SUCCESS;
}
CUresult device_get_attribute(int* value, CUdevice_attribute attribute, CUdevice) {
  call entered("cuDeviceGetAttribute");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
      return *value = now->layout.maps_memory ? 1 : 0, CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
      return *value = 1, CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return *value = now->layout.multiprocessors, CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
      return *value = 2048, CUDA_SUCCESS;
    default:
      return *value = 0, CUDA_SUCCESS;
  }
}
CUresult device_can_access_peer(int* can, CUdevice device, CUdevice peer) {
  call entered("cuDeviceCanAccessPeer");
  *can = device != peer && reaches(device, peer);
  return entered.result;
}
CUresult device_primary_ctx_retain(CUcontext* context, CUdevice device) {
  call entered("cuDevicePrimaryCtxRetain");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  auto& state = *now->devices[static_cast<std::size_t>(device)];
  ++state.contexts;
  *context = reinterpret_cast<CUcontext>(&state);
  return CUDA_SUCCESS;
}
CUresult device_primary_ctx_release(CUdevice device) {
  call entered("cuDevicePrimaryCtxRelease");
  auto& contexts = now->devices[static_cast<std::size_t>(device)]->contexts;
  if (contexts == 0) return CUDA_ERROR_INVALID_CONTEXT;
  --contexts;
  return entered.result;
}
CUresult ctx_push_current(CUcontext context) {
  context_stack.push_back(context);
  return CUDA_SUCCESS;
}
CUresult ctx_pop_current(CUcontext* context) {
  if (context_stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  if (context) *context = context_stack.back();
  context_stack.pop_back();
  return CUDA_SUCCESS;
}

CUresult mem_get_info(std::size_t* free, std::size_t* total) {
  call entered("cuMemGetInfo");
  const auto* device = current_device();
  if (!device) return CUDA_ERROR_INVALID_CONTEXT;
  *total = now->layout.memory;
  *free = now->layout.memory - device->taken;
  return entered.result;
}
CUresult mem_get_allocation_granularity(std::size_t* bytes, const CUmemAllocationProp*,
                                        CUmemAllocationGranularity_flags) {
  call entered("cuMemGetAllocationGranularity");
  *bytes = now->layout.granularity;
  return entered.result;
}
CUresult mem_address_reserve(CUdeviceptr* start, std::size_t bytes, std::size_t alignment,
                             CUdeviceptr, unsigned long long flags) {
  call entered("cuMemAddressReserve");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  const std::size_t unit = std::max(alignment, now->layout.granularity);
  if (!is_granular(bytes) || (alignment & (alignment - 1)) != 0 || flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  void* reserved =
      ::mmap(nullptr, bytes + unit, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  const auto raw = reinterpret_cast<CUdeviceptr>(reserved);
  *start = (raw + unit - 1) / unit * unit;
  if (*start > raw) ::munmap(reserved, *start - raw);
  ::munmap(reinterpret_cast<void*>(*start + bytes), raw + unit - *start);
  now->reservations[*start] = bytes;
  return CUDA_SUCCESS;
}
CUresult mem_address_free(CUdeviceptr start, std::size_t bytes) {
  call entered("cuMemAddressFree");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  const auto found = now->reservations.find(start);
  if (found == now->reservations.end() || found->second != bytes) return CUDA_ERROR_INVALID_VALUE;
  const auto mapped = now->mappings.lower_bound(start);
  if (mapped != now->mappings.end() && mapped->first < start + bytes)
    return CUDA_ERROR_INVALID_VALUE;
  ::munmap(reinterpret_cast<void*>(start), bytes);
  now->reservations.erase(found);
  return CUDA_SUCCESS;
}

CUresult mem_create(CUmemGenericAllocationHandle* handle, std::size_t bytes,
                    const CUmemAllocationProp* properties, unsigned long long flags) {
  call entered("cuMemCreate");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  if (!is_granular(bytes) || flags != 0 || properties->type != CU_MEM_ALLOCATION_TYPE_PINNED ||
      properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
      !is_device(properties->location.id))
    return CUDA_ERROR_INVALID_VALUE;
  auto& device = *now->devices[static_cast<std::size_t>(properties->location.id)];
  if (bytes > now->layout.memory - device.taken) return CUDA_ERROR_OUT_OF_MEMORY;
  // The name tells an importer whose memory it is.
  unique_fd file(::memfd_create(fmt::format("host-gpu-{}", device.ordinal).c_str(), MFD_CLOEXEC));
  if (!file || ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0)
    return CUDA_ERROR_OUT_OF_MEMORY;
  // Device memory holds what was there before: some of it here, for speed.
  const std::vector<std::byte> rubbish(4096, std::byte{0xa5});
  for (std::size_t at = 0; at < bytes; at += std::size_t{1} << 16)
    (void)!::pwrite(file.get(), rubbish.data(), rubbish.size(), static_cast<off_t>(at));
  auto made = std::make_shared<allocation>(std::move(file), bytes, device.ordinal, &device.taken);
  made->exports = properties->requestedHandleTypes;
  *handle = now->next_handle++;
  now->handles[*handle] = std::move(made);
  return CUDA_SUCCESS;
}
CUresult mem_release(CUmemGenericAllocationHandle handle) {
  call entered("cuMemRelease");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  return now->handles.erase(handle) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult mem_map(CUdeviceptr start, std::size_t bytes, std::size_t offset,
                 CUmemGenericAllocationHandle handle, unsigned long long flags) {
  call entered("cuMemMap");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  const auto found = now->handles.find(handle);
  if (found == now->handles.end() || !is_granular(bytes) || offset != 0 || flags != 0 ||
      start % now->layout.granularity != 0 || bytes > found->second->bytes ||
      !is_reserved(start, bytes))
    return CUDA_ERROR_INVALID_VALUE;
  const auto after = now->mappings.lower_bound(start);
  if (after != now->mappings.end() && after->first < start + bytes) return CUDA_ERROR_INVALID_VALUE;
  if (after != now->mappings.begin() &&
      std::prev(after)->first + std::prev(after)->second.bytes > start)
    return CUDA_ERROR_INVALID_VALUE;
  now->mappings.emplace(start, mapping{bytes, found->second, {}, {}});
  return CUDA_SUCCESS;
}
CUresult mem_unmap(CUdeviceptr start, std::size_t bytes) {
  call entered("cuMemUnmap");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  return visit_whole(start, bytes, [](auto each) { now->mappings.erase(each); })
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_VALUE;
}
CUresult mem_set_access(CUdeviceptr start, std::size_t bytes, const CUmemAccessDesc* wanted,
                        std::size_t count) {
  call entered("cuMemSetAccess");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  bool allowed = true;
  const std::vector<CUmemAccessDesc> all(wanted, wanted + count);
  for (const auto& each : all) {
    allowed &= each.location.type == CU_MEM_LOCATION_TYPE_DEVICE && is_device(each.location.id);
    if (!allowed) return CUDA_ERROR_INVALID_VALUE;
  }
  const bool whole = visit_whole(start, bytes, [&](auto found) {
    for (const auto& each : all) allowed &= reaches(each.location.id, found->second.memory->device);
  });
  if (!whole || !allowed) return CUDA_ERROR_INVALID_VALUE;
  visit_whole(start, bytes, [&](auto found) {
    for (const auto& each : all) {
      found->second.readers.erase(each.location.id);
      found->second.writers.erase(each.location.id);
      if (each.flags != CU_MEM_ACCESS_FLAGS_PROT_NONE)
        found->second.readers.insert(each.location.id);
      if (each.flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
        found->second.writers.insert(each.location.id);
    }
  });
  return CUDA_SUCCESS;
}
CUresult mem_export_to_shareable_handle(void* to, CUmemGenericAllocationHandle handle,
                                        CUmemAllocationHandleType type, unsigned long long flags) {
  call entered("cuMemExportToShareableHandle");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  const auto found = now->handles.find(handle);
  if (found == now->handles.end() || flags != 0 ||
      type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || (found->second->exports & type) == 0)
    return CUDA_ERROR_INVALID_VALUE;
  const int descriptor = ::dup(found->second->file.get());
  if (descriptor < 0) return CUDA_ERROR_OPERATING_SYSTEM;
  *static_cast<int*>(to) = descriptor;
  return CUDA_SUCCESS;
}
CUresult mem_import_from_shareable_handle(CUmemGenericAllocationHandle* handle, void* from,
                                          CUmemAllocationHandleType type) {
  call entered("cuMemImportFromShareableHandle");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  const int descriptor = static_cast<int>(reinterpret_cast<std::uintptr_t>(from));
  char name[128] = {};
  const auto link = fmt::format("/proc/self/fd/{}", descriptor);
  int device = -1;
  struct stat file {};
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
      ::readlink(link.c_str(), name, sizeof name - 1) < 0 ||
      std::sscanf(name, "/memfd:host-gpu-%d", &device) != 1 || !is_device(device) ||
      ::fstat(descriptor, &file) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  auto imported = std::make_shared<allocation>(
      unique_fd(::dup(descriptor)), static_cast<std::size_t>(file.st_size), device, nullptr);
  *handle = now->next_handle++;
  now->handles[*handle] = std::move(imported);
  return CUDA_SUCCESS;
}

CUresult mem_host_register(void* start, std::size_t bytes, unsigned) {
  call entered("cuMemHostRegister");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  if (!current_device()) return CUDA_ERROR_INVALID_CONTEXT;
  return now->host_memory.emplace(start, bytes).second ? CUDA_SUCCESS
                                                       : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
}
CUresult mem_host_unregister(void* start) {
  call entered("cuMemHostUnregister");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  return now->host_memory.erase(start) == 1 ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

CUresult stream_create(CUstream* stream, unsigned) {
  call entered("cuStreamCreate");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  auto* device = current_device();
  if (!device) return CUDA_ERROR_INVALID_CONTEXT;
  *stream = reinterpret_cast<CUstream>(device);
  ++device->streams;
  return CUDA_SUCCESS;
}
CUresult stream_destroy(CUstream stream) {
  call entered("cuStreamDestroy");
  --reinterpret_cast<device_state*>(stream)->streams;
  return entered.result;
}
CUresult stream_synchronize(CUstream) {
  call entered("cuStreamSynchronize");
  return entered.result;
}
CUresult memcpy_async(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream) {
  call entered("cuMemcpyAsync");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  if (!current_device()) return CUDA_ERROR_INVALID_CONTEXT;
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
CUresult memset_d8_async(CUdeviceptr to, unsigned char value, std::size_t bytes, CUstream) {
  call entered("cuMemsetD8Async");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  if (!current_device()) return CUDA_ERROR_INVALID_CONTEXT;
  const side target(to, bytes, true);
  if (!target.valid) return CUDA_ERROR_INVALID_VALUE;
  target.fill(std::byte{value}, bytes);
  return CUDA_SUCCESS;
}

// The pool's memory is not checked as mapped memory is: the processor reaches it here.
CUresult mem_alloc_async(CUdeviceptr* memory, std::size_t bytes, CUstream) {
  call entered("cuMemAllocAsync");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  if (!current_device()) return CUDA_ERROR_INVALID_CONTEXT;
  if (bytes > now->layout.memory - current_device()->taken) return CUDA_ERROR_OUT_OF_MEMORY;
  auto made = std::make_unique<std::byte[]>(bytes);
  *memory = reinterpret_cast<CUdeviceptr>(made.get());
  now->pool[*memory] = std::move(made);
  return CUDA_SUCCESS;
}
CUresult mem_free_async(CUdeviceptr memory, CUstream) {
  call entered("cuMemFreeAsync");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  return now->pool.erase(memory) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult event_create(CUevent* event, unsigned) {
  call entered("cuEventCreate");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  auto made = std::make_unique<event_state>();
  *event = reinterpret_cast<CUevent>(made.get());
  now->events[*event] = std::move(made);
  return CUDA_SUCCESS;
}
CUresult event_destroy(CUevent event) {
  call entered("cuEventDestroy");
  return now->events.erase(event) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult event_record(CUevent event, CUstream) {
  call entered("cuEventRecord");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  *now->events.at(event) = {true, std::chrono::steady_clock::now()};
  return CUDA_SUCCESS;
}
CUresult event_synchronize(CUevent) {
  call entered("cuEventSynchronize");
  return entered.result;
}
CUresult event_elapsed_time(float* milliseconds, CUevent start, CUevent end) {
  call entered("cuEventElapsedTime");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  const auto& from = *now->events.at(start);
  const auto& to = *now->events.at(end);
  if (!from.recorded || !to.recorded) return CUDA_ERROR_INVALID_HANDLE;
  *milliseconds = std::chrono::duration<float, std::milli>(to.at - from.at).count();
  return CUDA_SUCCESS;
}
CUresult stream_wait_event(CUstream, CUevent, unsigned) {
  call entered("cuStreamWaitEvent");
  return entered.result;
}
CUresult stream_is_capturing(CUstream, CUstreamCaptureStatus* status) {
  call entered("cuStreamIsCapturing");
  *status = now->capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
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
CUresult launch_kernel_ex(const CUlaunchConfig*, CUfunction, void**, void**) {
  call entered("cuLaunchKernelEx");
  return entered.result != CUDA_SUCCESS ? entered.result : CUDA_ERROR_NOT_SUPPORTED;
}
CUresult occupancy_max_active_blocks(int* blocks, CUfunction, int, std::size_t) {
  call entered("cuOccupancyMaxActiveBlocksPerMultiprocessor");
  *blocks = now->layout.blocks_on_each;
  return entered.result;
}

const driver table = {
    .get_error_name = get_error_name,
    .get_error_string = get_error_string,
    .init = init,
    .driver_get_version = driver_get_version,
    .device_get_count = device_get_count,
    .device_get = device_get,
    .device_get_name = device_get_name,
    .device_get_uuid = device_get_uuid,
    .device_get_attribute = device_get_attribute,
    .device_can_access_peer = device_can_access_peer,
    .device_primary_ctx_retain = device_primary_ctx_retain,
    .device_primary_ctx_release = device_primary_ctx_release,
    .ctx_push_current = ctx_push_current,
    .ctx_pop_current = ctx_pop_current,
    .mem_get_info = mem_get_info,
    .mem_get_allocation_granularity = mem_get_allocation_granularity,
    .mem_address_reserve = mem_address_reserve,
    .mem_address_free = mem_address_free,
    .mem_create = mem_create,
    .mem_release = mem_release,
    .mem_map = mem_map,
    .mem_unmap = mem_unmap,
    .mem_set_access = mem_set_access,
    .mem_export_to_shareable_handle = mem_export_to_shareable_handle,
    .mem_import_from_shareable_handle = mem_import_from_shareable_handle,
    .mem_host_register = mem_host_register,
    .mem_host_unregister = mem_host_unregister,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_synchronize = stream_synchronize,
    .memcpy_async = memcpy_async,
    .memset_d8_async = memset_d8_async,
    .mem_alloc_async = mem_alloc_async,
    .mem_free_async = mem_free_async,
    .stream_wait_event = stream_wait_event,
    .stream_is_capturing = stream_is_capturing,
    .launch_host_func = launch_host_func,
    .launch_kernel_ex = launch_kernel_ex,
    .occupancy_max_active_blocks = occupancy_max_active_blocks,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_synchronize = event_synchronize,
    .event_elapsed_time = event_elapsed_time,
};

}  // namespace

const driver& start(const machine& machine) {
  std::lock_guard lock(mutex);
  now = std::make_unique<state>();
  now->layout = machine;
  now->initialised = true;
  for (int i = 0; i < machine.devices; ++i) {
    now->devices.push_back(std::make_unique<device_state>());
    now->devices.back()->ordinal = i;
  }
  return table;
}

void fail(const std::string& function, CUresult result, int skip) {
  std::lock_guard lock(mutex);
  now->failures[function] = {skip, result};
}

void capture(bool on) {
  std::lock_guard lock(mutex);
  now->capturing = on;
}

usage in_use() {
  std::lock_guard lock(mutex);
  usage used;
  used.handles = now->handles.size();
  used.mappings = now->mappings.size();
  used.reservations = now->reservations.size();
  used.events = now->events.size();
  used.pool_blocks = now->pool.size();
  used.shared_host_ranges = now->host_memory.size();
  for (const auto& device : now->devices) {
    used.contexts += device->contexts;
    used.streams += device->streams;
    used.bytes += device->taken;
  }
  return used;
}

}  // namespace heddle::gpu::host_driver
