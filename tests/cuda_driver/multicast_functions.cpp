// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// Multicast objects. Processes share one by a file that holds what is bound to it; what would wait
// for another process on a GPU fails here.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "cuda_driver/state.hpp"

namespace heddle::gpu::host_driver {
namespace {

bool is_multicast_granular(std::size_t bytes) {
  return bytes % now->layout.multicast_granularity == 0;
}

/// Null if the handle is not that of a multicast object.
allocation* object_of(CUmemGenericAllocationHandle handle) {
  const auto found = now->handles.find(handle);
  return found == now->handles.end() || !found->second.memory->multicast
             ? nullptr
             : found->second.memory.get();
}

CUresult multicast_get_granularity(std::size_t* bytes, const CUmulticastObjectProp* properties,
                                   CUmulticastGranularity_flags option) {
  call entered("cuMulticastGetGranularity");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  if (properties->numDevices == 0 || properties->flags != 0) return CUDA_ERROR_INVALID_VALUE;
  *bytes = option == CU_MULTICAST_GRANULARITY_RECOMMENDED
               ? now->layout.multicast_recommended_granularity
               : now->layout.multicast_granularity;
  return CUDA_SUCCESS;
}
CUresult multicast_create(CUmemGenericAllocationHandle* handle,
                          const CUmulticastObjectProp* properties) {
  call entered("cuMulticastCreate");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  if (properties->numDevices == 0 || properties->numDevices > multicast_object::most ||
      properties->size == 0 || !is_multicast_granular(properties->size) || properties->flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  unique_fd file(::memfd_create("host-multicast", MFD_CLOEXEC));
  if (!file || ::ftruncate(file.get(), sizeof(multicast_object)) != 0)
    return CUDA_ERROR_OUT_OF_MEMORY;
  auto made = std::make_shared<allocation>(std::move(file), properties->size, -1, nullptr);
  made->exports = static_cast<int>(properties->handleTypes);
  made->multicast = open_multicast(*made);
  made->multicast->num_devices = static_cast<int>(properties->numDevices);
  made->multicast->bytes = properties->size;
  *handle = now->next_handle++;
  now->handles[*handle].memory = std::move(made);
  return CUDA_SUCCESS;
}
CUresult multicast_add_device(CUmemGenericAllocationHandle handle, CUdevice device) {
  call entered("cuMulticastAddDevice");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  auto* object = object_of(handle);
  if (!object || !is_device(device)) return CUDA_ERROR_INVALID_VALUE;
  if (!now->layout.multicast.contains(device)) return CUDA_ERROR_NOT_SUPPORTED;
  auto& member = object->multicast->members[static_cast<std::size_t>(device)];
  if (object->multicast->complete() || member.added.exchange(true))
    return CUDA_ERROR_INVALID_DEVICE;
  ++object->multicast->added;
  return CUDA_SUCCESS;
}
CUresult multicast_bind_mem(CUmemGenericAllocationHandle handle, std::size_t offset,
                            CUmemGenericAllocationHandle memory_handle, std::size_t memory_offset,
                            std::size_t bytes, unsigned long long flags) {
  call entered("cuMulticastBindMem");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  auto* object = object_of(handle);
  const auto found = now->handles.find(memory_handle);
  if (!object || found == now->handles.end() || found->second.memory->multicast || flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  const auto& memory = found->second.memory;
  if (bytes == 0 || !is_multicast_granular(offset) || !is_multicast_granular(memory_offset) ||
      !is_multicast_granular(bytes) || offset + bytes > object->bytes ||
      memory_offset + bytes > memory->bytes || (object->exports != 0 && memory->exports == 0))
    return CUDA_ERROR_INVALID_VALUE;
  if (!object->multicast->complete()) return CUDA_ERROR_ILLEGAL_STATE;
  if (!is_device(memory->device)) return CUDA_ERROR_INVALID_DEVICE;
  auto& member = object->multicast->members[static_cast<std::size_t>(memory->device)];
  if (!member.added || member.bound) return CUDA_ERROR_INVALID_DEVICE;
  member.process = ::getpid();
  member.descriptor = memory->file.get();
  member.offset = offset;
  member.memory_offset = memory_offset;
  member.bytes = bytes;
  member.bound = true;
  object->bound.push_back(memory);
  return CUDA_SUCCESS;
}

}  // namespace

multicast_object* open_multicast(const allocation& memory) {
  void* shared = ::mmap(nullptr, sizeof(multicast_object), PROT_READ | PROT_WRITE, MAP_SHARED,
                        memory.file.get(), 0);
  return shared == MAP_FAILED ? nullptr : static_cast<multicast_object*>(shared);
}

int multimem_store(CUdeviceptr at, const void* from, std::size_t bytes, int device) {
  std::lock_guard lock(mutex);
  const auto found = mapping_at(at);
  if (found == now->mappings.end() || !found->second.memory->multicast ||
      !found->second.writers.contains(device))
    return 0;
  const std::size_t offset = at - found->first;
  int reached = 0;
  for (const auto& member : found->second.memory->multicast->members) {
    if (!member.bound || offset < member.offset || offset + bytes > member.offset + member.bytes)
      continue;
    const auto path = fmt::format("/proc/{}/fd/{}", member.process, member.descriptor);
    const unique_fd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    const auto place = member.memory_offset + (offset - member.offset);
    if (::pwrite(file.get(), from, bytes, static_cast<off_t>(place)) == static_cast<ssize_t>(bytes))
      ++reached;
  }
  return reached;
}

void add_multicast_functions(driver& table) {
  table.multicast_get_granularity = multicast_get_granularity;
  table.multicast_create = multicast_create;
  table.multicast_add_device = multicast_add_device;
  table.multicast_bind_mem = multicast_bind_mem;
}

}  // namespace heddle::gpu::host_driver
