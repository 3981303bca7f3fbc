// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// Ranges of addresses, what is mapped there, and host memory.

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>

#include "cuda_driver/state.hpp"

namespace heddle::gpu::host_driver {
namespace {

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

CUresult mem_map(CUdeviceptr start, std::size_t bytes, std::size_t offset,
                 CUmemGenericAllocationHandle handle, unsigned long long flags) {
  call entered("cuMemMap");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  const auto found = now->handles.find(handle);
  if (found == now->handles.end() || !is_granular(bytes) || offset != 0 || flags != 0 ||
      start % now->layout.granularity != 0 || bytes > found->second.memory->bytes ||
      !is_reserved(start, bytes))
    return CUDA_ERROR_INVALID_VALUE;
  if (const auto* object = found->second.memory->multicast) {
    if (!object->complete()) return CUDA_ERROR_ILLEGAL_STATE;
    if (start % now->layout.multicast_granularity != 0 ||
        bytes % now->layout.multicast_granularity != 0)
      return CUDA_ERROR_INVALID_VALUE;
  }
  const auto after = now->mappings.lower_bound(start);
  if (after != now->mappings.end() && after->first < start + bytes) return CUDA_ERROR_INVALID_VALUE;
  if (after != now->mappings.begin() &&
      std::prev(after)->first + std::prev(after)->second.bytes > start)
    return CUDA_ERROR_INVALID_VALUE;
  now->mappings.emplace(start, mapping{bytes, found->second.memory, {}, {}, handle});
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
CUresult mem_get_address_range(CUdeviceptr* start, std::size_t* bytes, CUdeviceptr at) {
  call entered("cuMemGetAddressRange");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  if (!current_device()) return CUDA_ERROR_INVALID_CONTEXT;
  const auto found = mapping_at(at);
  if (found == now->mappings.end()) return CUDA_ERROR_NOT_FOUND;
  *start = found->first;
  *bytes = found->second.bytes;
  return CUDA_SUCCESS;
}
CUresult mem_get_handle_for_address_range(void* handle, CUdeviceptr start, std::size_t bytes,
                                          CUmemRangeHandleType kind, unsigned long long flags) {
  call entered("cuMemGetHandleForAddressRange");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  if (!current_device()) return CUDA_ERROR_INVALID_CONTEXT;
  if (kind != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD || flags != 0 || start % 4096 != 0 ||
      bytes % 4096 != 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (!now->layout.shares_with_cards) return CUDA_ERROR_NOT_SUPPORTED;
  const auto found = mapping_at(start);
  if (found == now->mappings.end() || start + bytes > found->first + found->second.bytes)
    return CUDA_ERROR_INVALID_VALUE;
  *static_cast<int*>(handle) = ::fcntl(found->second.memory->file.get(), F_DUPFD_CLOEXEC, 3);
  return CUDA_SUCCESS;
}
CUresult flush_gpu_direct_rdma_writes(CUflushGPUDirectRDMAWritesTarget,
                                      CUflushGPUDirectRDMAWritesScope) {
  call entered("cuFlushGPUDirectRDMAWrites");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  if (!current_device()) return CUDA_ERROR_INVALID_CONTEXT;
  if (!now->layout.flushes_card_writes) return CUDA_ERROR_NOT_SUPPORTED;
  ++now->card_flushes;
  return CUDA_SUCCESS;
}
CUresult pointer_get_attribute(void* value, CUpointer_attribute attribute, CUdeviceptr at) {
  call entered("cuPointerGetAttribute");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  if (!current_device()) return CUDA_ERROR_INVALID_CONTEXT;
  if (attribute != CU_POINTER_ATTRIBUTE_MEMORY_TYPE) return CUDA_ERROR_NOT_SUPPORTED;
  const bool of_host =
      std::any_of(now->host_memory.begin(), now->host_memory.end(), [&](const auto& range) {
        return at - reinterpret_cast<CUdeviceptr>(range.first) < range.second;
      });
  if (!of_host && mapping_at(at) == now->mappings.end()) return CUDA_ERROR_INVALID_VALUE;
  *static_cast<unsigned*>(value) = of_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  return CUDA_SUCCESS;
}

CUresult mem_host_register(void* start, std::size_t bytes, unsigned) {
  call entered("cuMemHostRegister");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  if (!current_device()) return CUDA_ERROR_INVALID_CONTEXT;
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (!host_ranges_of(reinterpret_cast<CUdeviceptr>(start), bytes).empty())
    return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  now->host_memory.emplace(start, bytes);
  return CUDA_SUCCESS;
}
CUresult mem_host_unregister(void* start) {
  call entered("cuMemHostUnregister");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  // The range is still there.
  unsigned char resident = 0;
  void* page = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(start) / 4096 * 4096);
  if (::mincore(page, 1, &resident) != 0) return CUDA_ERROR_INVALID_VALUE;
  return now->host_memory.erase(start) == 1 ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

}  // namespace

void add_memory_functions(driver& table) {
  table.mem_get_allocation_granularity = mem_get_allocation_granularity;
  table.mem_address_reserve = mem_address_reserve;
  table.mem_address_free = mem_address_free;
  table.mem_map = mem_map;
  table.mem_unmap = mem_unmap;
  table.mem_set_access = mem_set_access;
  table.mem_get_address_range = mem_get_address_range;
  table.mem_get_handle_for_address_range = mem_get_handle_for_address_range;
  table.flush_gpu_direct_rdma_writes = flush_gpu_direct_rdma_writes;
  table.pointer_get_attribute = pointer_get_attribute;
  table.mem_host_register = mem_host_register;
  table.mem_host_unregister = mem_host_unregister;
}

}  // namespace heddle::gpu::host_driver
