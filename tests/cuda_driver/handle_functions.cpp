// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// Physical memory and its handles, which go to other processes.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "cuda_driver/state.hpp"

namespace heddle::gpu::host_driver {
namespace {

CUresult mem_create(CUmemGenericAllocationHandle* handle, std::size_t bytes,
                    const CUmemAllocationProp* properties, unsigned long long flags) {
  call entered("cuMemCreate");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  const auto& location = properties->location;
  const bool of_host = location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA && location.id == 0;
  if (!is_granular(bytes) || flags != 0 || properties->type != CU_MEM_ALLOCATION_TYPE_PINNED ||
      (!of_host && (location.type != CU_MEM_LOCATION_TYPE_DEVICE || !is_device(location.id))))
    return CUDA_ERROR_INVALID_VALUE;
  if ((properties->requestedHandleTypes & CU_MEM_HANDLE_TYPE_FABRIC) != 0) {
    if (!now->layout.fabric_handles) return CUDA_ERROR_NOT_SUPPORTED;
    if (!now->layout.imex_channel) return CUDA_ERROR_NOT_PERMITTED;
  }
  auto* device = of_host ? nullptr : now->devices[static_cast<std::size_t>(location.id)].get();
  if (device && bytes > now->layout.memory - device->taken) return CUDA_ERROR_OUT_OF_MEMORY;
  const int ordinal = of_host ? -1 : location.id;
  // The name tells an importer whose memory it is.
  unique_fd file(::memfd_create(fmt::format("host-gpu-{}", ordinal).c_str(), MFD_CLOEXEC));
  if (!file || ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0)
    return CUDA_ERROR_OUT_OF_MEMORY;
  // Device memory holds what was there before: some of it here, for speed.
  const std::vector<std::byte> rubbish(4096, std::byte{0xa5});
  for (std::size_t at = 0; at < bytes; at += std::size_t{1} << 16)
    (void)!::pwrite(file.get(), rubbish.data(), rubbish.size(), static_cast<off_t>(at));
  auto made = std::make_shared<allocation>(std::move(file), bytes, ordinal,
                                           device ? &device->taken : nullptr);
  made->exports = properties->requestedHandleTypes;
  *handle = now->next_handle++;
  now->handles[*handle].memory = std::move(made);
  return CUDA_SUCCESS;
}
CUresult mem_release(CUmemGenericAllocationHandle handle) {
  call entered("cuMemRelease");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  const auto found = now->handles.find(handle);
  if (found == now->handles.end()) return CUDA_ERROR_INVALID_VALUE;
  if (--found->second.references == 0) now->handles.erase(found);
  return CUDA_SUCCESS;
}
CUresult mem_retain_allocation_handle(CUmemGenericAllocationHandle* handle, void* at) {
  call entered("cuMemRetainAllocationHandle");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  const auto found = mapping_at(reinterpret_cast<CUdeviceptr>(at));
  // Memory of cudaMalloc, which a program gets by cuMemAllocAsync here, has no handle.
  if (found == now->mappings.end() || found->second.handle == 0) return CUDA_ERROR_INVALID_VALUE;
  *handle = found->second.handle;
  auto& held = now->handles[*handle];
  if (held.memory)
    ++held.references;
  else
    held.memory = found->second.memory;
  return CUDA_SUCCESS;
}
CUresult mem_get_allocation_properties(CUmemAllocationProp* properties,
                                       CUmemGenericAllocationHandle handle) {
  call entered("cuMemGetAllocationPropertiesFromHandle");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  const auto found = now->handles.find(handle);
  if (found == now->handles.end()) return CUDA_ERROR_INVALID_VALUE;
  *properties = {};
  properties->type = CU_MEM_ALLOCATION_TYPE_PINNED;
  const int device = found->second.memory->device;
  properties->location.type =
      device < 0 ? CU_MEM_LOCATION_TYPE_HOST_NUMA : CU_MEM_LOCATION_TYPE_DEVICE;
  properties->location.id = device < 0 ? 0 : device;
  properties->requestedHandleTypes =
      static_cast<CUmemAllocationHandleType>(found->second.memory->exports);
  return CUDA_SUCCESS;
}
/// What a fabric handle holds here.
struct fabric_name {
  pid_t process;
  int descriptor;
};

CUresult mem_export_to_shareable_handle(void* to, CUmemGenericAllocationHandle handle,
                                        CUmemAllocationHandleType type, unsigned long long flags) {
  call entered("cuMemExportToShareableHandle");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  const auto found = now->handles.find(handle);
  if (found == now->handles.end() || flags != 0 || (found->second.memory->exports & type) == 0)
    return CUDA_ERROR_INVALID_VALUE;
  const int file = found->second.memory->file.get();
  if (type == CU_MEM_HANDLE_TYPE_FABRIC) {
    const fabric_name name{::getpid(), file};
    std::memcpy(to, &name, sizeof name);
    return CUDA_SUCCESS;
  }
  const int descriptor = ::dup(file);
  if (descriptor < 0) return CUDA_ERROR_OPERATING_SYSTEM;
  *static_cast<int*>(to) = descriptor;
  return CUDA_SUCCESS;
}

/// A descriptor of its own for what a handle names.
unique_fd open_handle(const void* from, CUmemAllocationHandleType type) {
  if (type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
    return unique_fd(::dup(static_cast<int>(reinterpret_cast<std::uintptr_t>(from))));
  fabric_name name{};
  std::memcpy(&name, from, sizeof name);
  return unique_fd(::open(fmt::format("/proc/{}/fd/{}", name.process, name.descriptor).c_str(),
                          O_RDWR | O_CLOEXEC));
}

CUresult mem_import_from_shareable_handle(CUmemGenericAllocationHandle* handle, void* from,
                                          CUmemAllocationHandleType type) {
  call entered("cuMemImportFromShareableHandle");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  const bool fabric = type == CU_MEM_HANDLE_TYPE_FABRIC;
  if (fabric && !now->layout.imex_channel) return CUDA_ERROR_NOT_PERMITTED;
  if (!fabric && type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  auto file = open_handle(from, type);
  char name[128] = {};
  const auto link = fmt::format("/proc/self/fd/{}", file.get());
  int device = -1;
  struct stat status {};
  if (::readlink(link.c_str(), name, sizeof name - 1) < 0 || ::fstat(file.get(), &status) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  const bool multicast = std::strncmp(name, "/memfd:host-multicast", 21) == 0;
  if (!multicast && (std::sscanf(name, "/memfd:host-gpu-%d", &device) != 1 || !is_device(device)))
    return CUDA_ERROR_INVALID_VALUE;
  auto imported = std::make_shared<allocation>(
      std::move(file), static_cast<std::size_t>(status.st_size), device, nullptr);
  if (multicast) {
    imported->multicast = open_multicast(*imported);
    if (!imported->multicast) return CUDA_ERROR_OUT_OF_MEMORY;
    imported->bytes = imported->multicast->bytes;
  }
  imported->exports = type;
  *handle = now->next_handle++;
  now->handles[*handle].memory = std::move(imported);
  return CUDA_SUCCESS;
}

}  // namespace

void add_handle_functions(driver& table) {
  table.mem_create = mem_create;
  table.mem_release = mem_release;
  table.mem_retain_allocation_handle = mem_retain_allocation_handle;
  table.mem_get_allocation_properties = mem_get_allocation_properties;
  table.mem_export_to_shareable_handle = mem_export_to_shareable_handle;
  table.mem_import_from_shareable_handle = mem_import_from_shareable_handle;
}

}  // namespace heddle::gpu::host_driver
