// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// Errors, devices and contexts.

#include <cstdio>

#include "cuda_driver/state.hpp"

namespace heddle::gpu::host_driver {
namespace {

CUresult get_error_name(CUresult result, const char** name) {
  switch (result) {
    case CUDA_ERROR_OUT_OF_MEMORY:
      return *name = "CUDA_ERROR_OUT_OF_MEMORY", CUDA_SUCCESS;
    case CUDA_ERROR_NOT_PERMITTED:
      return *name = "CUDA_ERROR_NOT_PERMITTED", CUDA_SUCCESS;
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
CUresult device_get_pci_bus_id(char* text, int size, CUdevice device) {
  call entered("cuDeviceGetPCIBusId");
  // In capitals, as CUDA's own.
  std::snprintf(text, static_cast<std::size_t>(size), "0000:A%X:00.0", device);
  return entered.result;
}
CUresult device_get_attribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  call entered("cuDeviceGetAttribute");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
      return *value = now->layout.maps_memory ? 1 : 0, CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED:
      return *value = now->layout.fabric_handles ? 1 : 0, CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED:
      return *value = now->layout.multicast.contains(device) ? 1 : 0, CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS:
      return *value = 1, CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED:
      return *value = now->layout.shares_with_cards ? 1 : 0, CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED:
      return *value = now->layout.exports_dmabufs ? 1 : 0, CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING:
      return *value = now->layout.orders_card_writes
                          ? CU_GPU_DIRECT_RDMA_WRITES_ORDERING_ALL_DEVICES
                          : CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER,
             CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS:
      return *value =
                 now->layout.flushes_card_writes ? CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST : 0,
             CUDA_SUCCESS;
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
CUresult device_get_p2p_attribute(int* value, CUdevice_P2PAttribute attribute, CUdevice device,
                                  CUdevice peer) {
  call entered("cuDeviceGetP2PAttribute");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  if (device == peer) return CUDA_ERROR_INVALID_DEVICE;
  *value = attribute == CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED && now->layout.nvlink &&
           reaches(device, peer);
  return CUDA_SUCCESS;
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
CUresult ctx_get_limit(std::size_t* bytes, CUlimit limit) {
  call entered("cuCtxGetLimit");
  if (!current_device()) return CUDA_ERROR_INVALID_CONTEXT;
  if (limit != CU_LIMIT_STACK_SIZE) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  *bytes = current_device()->stack_bytes;
  return entered.result;
}
CUresult ctx_set_limit(CUlimit limit, std::size_t bytes) {
  call entered("cuCtxSetLimit");
  if (entered.result != CUDA_SUCCESS) return entered.result;
  if (!current_device()) return CUDA_ERROR_INVALID_CONTEXT;
  if (limit != CU_LIMIT_STACK_SIZE) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  current_device()->stack_bytes = bytes;
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

}  // namespace

void add_device_functions(driver& table) {
  table.get_error_name = get_error_name;
  table.get_error_string = get_error_string;
  table.init = init;
  table.driver_get_version = driver_get_version;
  table.device_get_count = device_get_count;
  table.device_get = device_get;
  table.device_get_name = device_get_name;
  table.device_get_uuid = device_get_uuid;
  table.device_get_pci_bus_id = device_get_pci_bus_id;
  table.device_get_attribute = device_get_attribute;
  table.device_can_access_peer = device_can_access_peer;
  table.device_get_p2p_attribute = device_get_p2p_attribute;
  table.device_primary_ctx_retain = device_primary_ctx_retain;
  table.device_primary_ctx_release = device_primary_ctx_release;
  table.ctx_push_current = ctx_push_current;
  table.ctx_pop_current = ctx_pop_current;
  table.ctx_get_limit = ctx_get_limit;
  table.ctx_set_limit = ctx_set_limit;
  table.mem_get_info = mem_get_info;
}

}  // namespace heddle::gpu::host_driver
