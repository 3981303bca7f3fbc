// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/driver.hpp"

#include <dlfcn.h>

#include <atomic>

#include "support/throw_error.hpp"

namespace heddle::gpu {
namespace {

/// Throws if the library does not have the function.
template <class Function>
void find(Function& function, void* library, const char* symbol) {
  void* found = ::dlsym(library, symbol);
  if (!found)
    throw_error(HEDDLE_ERROR_NOT_SUPPORTED,
                "the CUDA driver has no {}; install a driver of CUDA 12.4 or newer", symbol);
  function = reinterpret_cast<Function>(found);
}

// A function has several forms, of which the header declares one, and says by a macro which: the
// symbol and its type come from there together. (cuGetProcAddress would choose by a version, and
// may give a form with other arguments than the header's.)
#define HEDDLE_SYMBOL(function) #function
#define HEDDLE_FIND(member, function) find(table.member, library, HEDDLE_SYMBOL(function))

/// Throws for the first function that there is not.
void fill(driver& table, void* library) {
  HEDDLE_FIND(get_error_name, cuGetErrorName);
  HEDDLE_FIND(get_error_string, cuGetErrorString);
  HEDDLE_FIND(init, cuInit);
  HEDDLE_FIND(driver_get_version, cuDriverGetVersion);
  HEDDLE_FIND(device_get_count, cuDeviceGetCount);
  HEDDLE_FIND(device_get, cuDeviceGet);
  HEDDLE_FIND(device_get_name, cuDeviceGetName);
  HEDDLE_FIND(device_get_uuid, cuDeviceGetUuid);
  HEDDLE_FIND(device_get_pci_bus_id, cuDeviceGetPCIBusId);
  HEDDLE_FIND(device_get_attribute, cuDeviceGetAttribute);
  HEDDLE_FIND(device_can_access_peer, cuDeviceCanAccessPeer);
  HEDDLE_FIND(device_get_p2p_attribute, cuDeviceGetP2PAttribute);
  HEDDLE_FIND(device_primary_ctx_retain, cuDevicePrimaryCtxRetain);
  HEDDLE_FIND(device_primary_ctx_release, cuDevicePrimaryCtxRelease);
  HEDDLE_FIND(ctx_push_current, cuCtxPushCurrent);
  HEDDLE_FIND(ctx_pop_current, cuCtxPopCurrent);
  HEDDLE_FIND(ctx_get_limit, cuCtxGetLimit);
  HEDDLE_FIND(ctx_set_limit, cuCtxSetLimit);
  HEDDLE_FIND(mem_get_info, cuMemGetInfo);
  HEDDLE_FIND(mem_get_allocation_granularity, cuMemGetAllocationGranularity);
  HEDDLE_FIND(mem_address_reserve, cuMemAddressReserve);
  HEDDLE_FIND(mem_address_free, cuMemAddressFree);
  HEDDLE_FIND(mem_create, cuMemCreate);
  HEDDLE_FIND(mem_release, cuMemRelease);
  HEDDLE_FIND(mem_map, cuMemMap);
  HEDDLE_FIND(mem_unmap, cuMemUnmap);
  HEDDLE_FIND(mem_set_access, cuMemSetAccess);
  HEDDLE_FIND(mem_export_to_shareable_handle, cuMemExportToShareableHandle);
  HEDDLE_FIND(mem_import_from_shareable_handle, cuMemImportFromShareableHandle);
  HEDDLE_FIND(mem_retain_allocation_handle, cuMemRetainAllocationHandle);
  HEDDLE_FIND(mem_get_allocation_properties, cuMemGetAllocationPropertiesFromHandle);
  HEDDLE_FIND(mem_get_address_range, cuMemGetAddressRange);
  HEDDLE_FIND(mem_get_handle_for_address_range, cuMemGetHandleForAddressRange);
  HEDDLE_FIND(pointer_get_attribute, cuPointerGetAttribute);
  HEDDLE_FIND(flush_gpu_direct_rdma_writes, cuFlushGPUDirectRDMAWrites);
  HEDDLE_FIND(multicast_create, cuMulticastCreate);
  HEDDLE_FIND(multicast_add_device, cuMulticastAddDevice);
  HEDDLE_FIND(multicast_bind_mem, cuMulticastBindMem);
  HEDDLE_FIND(multicast_get_granularity, cuMulticastGetGranularity);
  HEDDLE_FIND(mem_host_register, cuMemHostRegister);
  HEDDLE_FIND(mem_host_unregister, cuMemHostUnregister);
  HEDDLE_FIND(stream_create, cuStreamCreate);
  HEDDLE_FIND(stream_destroy, cuStreamDestroy);
  HEDDLE_FIND(stream_synchronize, cuStreamSynchronize);
  HEDDLE_FIND(stream_write_value64, cuStreamWriteValue64);
  HEDDLE_FIND(memcpy_async, cuMemcpyAsync);
  HEDDLE_FIND(memset_d8_async, cuMemsetD8Async);
  HEDDLE_FIND(mem_alloc_async, cuMemAllocAsync);
  HEDDLE_FIND(mem_free_async, cuMemFreeAsync);
  HEDDLE_FIND(stream_wait_event, cuStreamWaitEvent);
  HEDDLE_FIND(stream_get_capture_info, cuStreamGetCaptureInfo);
  HEDDLE_FIND(stream_get_ctx, cuStreamGetCtx);
  HEDDLE_FIND(launch_host_func, cuLaunchHostFunc);
  HEDDLE_FIND(kernel_get_function, cuKernelGetFunction);
  HEDDLE_FIND(func_load, cuFuncLoad);
  HEDDLE_FIND(launch_kernel_ex, cuLaunchKernelEx);
  HEDDLE_FIND(occupancy_max_active_blocks, cuOccupancyMaxActiveBlocksPerMultiprocessor);
  HEDDLE_FIND(event_create, cuEventCreate);
  HEDDLE_FIND(event_destroy, cuEventDestroy);
  HEDDLE_FIND(event_record, cuEventRecord);
  HEDDLE_FIND(event_synchronize, cuEventSynchronize);
  HEDDLE_FIND(event_elapsed_time, cuEventElapsedTime);
}

#undef HEDDLE_FIND
#undef HEDDLE_SYMBOL

/// Fills the table and starts the driver; throws, saying why, if there is none that can be used.
void start(driver& table) {
  // Never closed: CUDA's own threads live in it.
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    throw_error(HEDDLE_ERROR_NOT_SUPPORTED,
                "no CUDA driver is installed (libcuda.so.1 is not found)");
  fill(table, library);
  int version = 0;
  check(table, table.driver_get_version(&version), "asking the CUDA driver for its version");
  if (const auto problem = why_version_is_too_old(version); !problem.empty())
    throw_error(HEDDLE_ERROR_NOT_SUPPORTED, "{}", problem);
  check(table, table.init(0), "starting the CUDA driver");
}

struct found_driver {
  driver table;
  std::string why_not;

  found_driver() {
    try {
      start(table);
    } catch (const error& problem) {
      why_not = problem.what();
    }
  }
};

std::atomic<const driver*> driver_of_tests{nullptr};

}  // namespace

void use_driver(const driver* instead) { driver_of_tests = instead; }

const driver* find_driver(std::string& why_not) {
  why_not.clear();
  if (const driver* instead = driver_of_tests) return instead;
  static const found_driver found;
  why_not = found.why_not;
  return why_not.empty() ? &found.table : nullptr;
}

std::string why_version_is_too_old(int driver_version) {
  if (driver_version / 1000 >= CUDA_VERSION / 1000) return "";
  return fmt::format(
      "the CUDA driver is of version {}.{}, heddle was compiled with CUDA {}.{}; install a driver "
      "of version {} or newer",
      driver_version / 1000, driver_version % 1000 / 10, CUDA_VERSION / 1000,
      CUDA_VERSION % 1000 / 10, CUDA_VERSION / 1000);
}

std::string describe(const driver& driver, CUresult result) {
  const char* name = nullptr;
  const char* text = nullptr;
  driver.get_error_name(result, &name);
  driver.get_error_string(result, &text);
  return fmt::format("{} ({})", text ? text : "an error that CUDA does not name",
                     name ? name : "?");
}

void throw_driver_error(const driver& driver, CUresult result, std::string_view asked) {
  throw_error(result == CUDA_ERROR_OUT_OF_MEMORY ? HEDDLE_ERROR_OUT_OF_MEMORY : HEDDLE_ERROR_SYSTEM,
              "{}: {}", asked, describe(driver, result));
}

}  // namespace heddle::gpu
