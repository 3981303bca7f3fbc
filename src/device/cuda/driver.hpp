// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

/// The host side of the CUDA device. (Not `heddle::cuda`, which would hide libcu++'s `cuda`.)
namespace heddle::gpu {

/// The functions of the CUDA driver that heddle calls, as pointers: they are looked up at run time,
/// so that one binary starts with and without a driver, and tests put another driver in the place
/// of CUDA's (tests/cuda_driver/host_driver.hpp).
struct driver {
  decltype(&::cuGetErrorName) get_error_name = nullptr;
  decltype(&::cuGetErrorString) get_error_string = nullptr;

  decltype(&::cuInit) init = nullptr;
  decltype(&::cuDriverGetVersion) driver_get_version = nullptr;
  decltype(&::cuDeviceGetCount) device_get_count = nullptr;
  decltype(&::cuDeviceGet) device_get = nullptr;
  decltype(&::cuDeviceGetName) device_get_name = nullptr;
  decltype(&::cuDeviceGetUuid) device_get_uuid = nullptr;
  decltype(&::cuDeviceGetPCIBusId) device_get_pci_bus_id = nullptr;
  decltype(&::cuDeviceGetAttribute) device_get_attribute = nullptr;
  decltype(&::cuDeviceCanAccessPeer) device_can_access_peer = nullptr;
  decltype(&::cuDeviceGetP2PAttribute) device_get_p2p_attribute = nullptr;
  decltype(&::cuDevicePrimaryCtxRetain) device_primary_ctx_retain = nullptr;
  decltype(&::cuDevicePrimaryCtxRelease) device_primary_ctx_release = nullptr;
  decltype(&::cuCtxPushCurrent) ctx_push_current = nullptr;
  decltype(&::cuCtxPopCurrent) ctx_pop_current = nullptr;
  decltype(&::cuCtxGetLimit) ctx_get_limit = nullptr;
  decltype(&::cuCtxSetLimit) ctx_set_limit = nullptr;

  decltype(&::cuMemGetInfo) mem_get_info = nullptr;
  decltype(&::cuMemGetAllocationGranularity) mem_get_allocation_granularity = nullptr;
  decltype(&::cuMemAddressReserve) mem_address_reserve = nullptr;
  decltype(&::cuMemAddressFree) mem_address_free = nullptr;
  decltype(&::cuMemCreate) mem_create = nullptr;
  decltype(&::cuMemRelease) mem_release = nullptr;
  decltype(&::cuMemMap) mem_map = nullptr;
  decltype(&::cuMemUnmap) mem_unmap = nullptr;
  decltype(&::cuMemSetAccess) mem_set_access = nullptr;
  decltype(&::cuMemExportToShareableHandle) mem_export_to_shareable_handle = nullptr;
  decltype(&::cuMemImportFromShareableHandle) mem_import_from_shareable_handle = nullptr;
  decltype(&::cuMemRetainAllocationHandle) mem_retain_allocation_handle = nullptr;
  decltype(&::cuMemGetAllocationPropertiesFromHandle) mem_get_allocation_properties = nullptr;
  decltype(&::cuMemGetAddressRange) mem_get_address_range = nullptr;
  decltype(&::cuMemGetHandleForAddressRange) mem_get_handle_for_address_range = nullptr;
  decltype(&::cuPointerGetAttribute) pointer_get_attribute = nullptr;
  decltype(&::cuFlushGPUDirectRDMAWrites) flush_gpu_direct_rdma_writes = nullptr;
  decltype(&::cuMulticastCreate) multicast_create = nullptr;
  decltype(&::cuMulticastAddDevice) multicast_add_device = nullptr;
  decltype(&::cuMulticastBindMem) multicast_bind_mem = nullptr;
  decltype(&::cuMulticastGetGranularity) multicast_get_granularity = nullptr;
  decltype(&::cuMemHostRegister) mem_host_register = nullptr;
  decltype(&::cuMemHostUnregister) mem_host_unregister = nullptr;

  decltype(&::cuStreamCreate) stream_create = nullptr;
  decltype(&::cuStreamDestroy) stream_destroy = nullptr;
  decltype(&::cuStreamSynchronize) stream_synchronize = nullptr;
  decltype(&::cuStreamWriteValue64) stream_write_value64 = nullptr;
  decltype(&::cuMemcpyAsync) memcpy_async = nullptr;
  decltype(&::cuMemsetD8Async) memset_d8_async = nullptr;
  decltype(&::cuMemAllocAsync) mem_alloc_async = nullptr;
  decltype(&::cuMemFreeAsync) mem_free_async = nullptr;
  decltype(&::cuStreamWaitEvent) stream_wait_event = nullptr;
  decltype(&::cuStreamGetCaptureInfo) stream_get_capture_info = nullptr;
  decltype(&::cuStreamGetCtx) stream_get_ctx = nullptr;
  decltype(&::cuLaunchHostFunc) launch_host_func = nullptr;
  decltype(&::cuKernelGetFunction) kernel_get_function = nullptr;
  decltype(&::cuFuncLoad) func_load = nullptr;
  decltype(&::cuLaunchKernelEx) launch_kernel_ex = nullptr;
  decltype(&::cuOccupancyMaxActiveBlocksPerMultiprocessor) occupancy_max_active_blocks = nullptr;

  decltype(&::cuEventCreate) event_create = nullptr;
  decltype(&::cuEventDestroy) event_destroy = nullptr;
  decltype(&::cuEventRecord) event_record = nullptr;
  decltype(&::cuEventSynchronize) event_synchronize = nullptr;
  decltype(&::cuEventElapsedTime) event_elapsed_time = nullptr;
};

/// The driver of this machine, found once; null if there is none that can be used: then `why_not`
/// says why, and what to do.
const driver* find_driver(std::string& why_not);

/// For tests: from now on find_driver gives this one. Null: this machine's again.
void use_driver(const driver* instead);

/// Whether a driver of that version (as cuDriverGetVersion tells it) can run what was compiled with
/// this toolkit: CUDA keeps that within a major version. An empty text if it can.
std::string why_version_is_too_old(int driver_version);

/// CUDA's text and name for a result.
std::string describe(const driver& driver, CUresult result);

/// Throws heddle::error: HEDDLE_ERROR_OUT_OF_MEMORY for CUDA's, else HEDDLE_ERROR_SYSTEM, with
/// CUDA's name and text for it after what was asked.
[[noreturn]] void throw_driver_error(const driver& driver, CUresult result, std::string_view asked);

template <class... Args>
void check(const driver& driver, CUresult result, fmt::format_string<Args...> asked,
           Args&&... args) {
  if (result != CUDA_SUCCESS) [[unlikely]]
    throw_driver_error(driver, result, fmt::format(asked, std::forward<Args>(args)...));
}

}  // namespace heddle::gpu
