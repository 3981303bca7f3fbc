// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/driver.hpp"

#include <dlfcn.h>

#include <atomic>

#include "support/throw_error.hpp"

namespace heddle::gpu {
namespace {

/// The newest form of each function that this toolkit's header declares.
class function_finder {
 public:
  explicit function_finder(void* library)
      : get_(reinterpret_cast<decltype(&::cuGetProcAddress)>(
            ::dlsym(library, "cuGetProcAddress_v2"))) {}

  template <class Function>
  function_finder& find(Function& function, const char* name) {
    void* found = nullptr;
    if (get_ &&
        get_(name, &found, CUDA_VERSION, CU_GET_PROC_ADDRESS_DEFAULT, nullptr) != CUDA_SUCCESS)
      found = nullptr;
    if (!found)
      throw_error(HEDDLE_ERROR_NOT_SUPPORTED,
                  "the CUDA driver has no {}; heddle needs CUDA {} or newer", name,
                  CUDA_VERSION / 1000);
    function = reinterpret_cast<Function>(found);
    return *this;
  }

 private:
  decltype(&::cuGetProcAddress) get_;
};

/// Throws for the first function that there is not.
void fill(driver& table, void* library) {
  function_finder functions(library);
  functions.find(table.get_error_name, "cuGetErrorName")
      .find(table.get_error_string, "cuGetErrorString")
      .find(table.init, "cuInit")
      .find(table.driver_get_version, "cuDriverGetVersion")
      .find(table.device_get_count, "cuDeviceGetCount")
      .find(table.device_get, "cuDeviceGet")
      .find(table.device_get_name, "cuDeviceGetName")
      .find(table.device_get_uuid, "cuDeviceGetUuid")
      .find(table.device_get_attribute, "cuDeviceGetAttribute")
      .find(table.device_can_access_peer, "cuDeviceCanAccessPeer")
      .find(table.device_get_p2p_attribute, "cuDeviceGetP2PAttribute")
      .find(table.device_primary_ctx_retain, "cuDevicePrimaryCtxRetain")
      .find(table.device_primary_ctx_release, "cuDevicePrimaryCtxRelease")
      .find(table.ctx_push_current, "cuCtxPushCurrent")
      .find(table.ctx_pop_current, "cuCtxPopCurrent")
      .find(table.mem_get_info, "cuMemGetInfo")
      .find(table.mem_get_allocation_granularity, "cuMemGetAllocationGranularity")
      .find(table.mem_address_reserve, "cuMemAddressReserve")
      .find(table.mem_address_free, "cuMemAddressFree")
      .find(table.mem_create, "cuMemCreate")
      .find(table.mem_release, "cuMemRelease")
      .find(table.mem_map, "cuMemMap")
      .find(table.mem_unmap, "cuMemUnmap")
      .find(table.mem_set_access, "cuMemSetAccess")
      .find(table.mem_export_to_shareable_handle, "cuMemExportToShareableHandle")
      .find(table.mem_import_from_shareable_handle, "cuMemImportFromShareableHandle")
      .find(table.mem_retain_allocation_handle, "cuMemRetainAllocationHandle")
      .find(table.mem_get_allocation_properties, "cuMemGetAllocationPropertiesFromHandle")
      .find(table.mem_get_address_range, "cuMemGetAddressRange")
      .find(table.pointer_get_attribute, "cuPointerGetAttribute")
      .find(table.multicast_create, "cuMulticastCreate")
      .find(table.multicast_add_device, "cuMulticastAddDevice")
      .find(table.multicast_bind_mem, "cuMulticastBindMem")
      .find(table.multicast_get_granularity, "cuMulticastGetGranularity")
      .find(table.mem_host_register, "cuMemHostRegister")
      .find(table.mem_host_unregister, "cuMemHostUnregister")
      .find(table.stream_create, "cuStreamCreate")
      .find(table.stream_destroy, "cuStreamDestroy")
      .find(table.stream_synchronize, "cuStreamSynchronize")
      .find(table.memcpy_async, "cuMemcpyAsync")
      .find(table.memset_d8_async, "cuMemsetD8Async")
      .find(table.mem_alloc_async, "cuMemAllocAsync")
      .find(table.mem_free_async, "cuMemFreeAsync")
      .find(table.stream_wait_event, "cuStreamWaitEvent")
      .find(table.stream_get_capture_info, "cuStreamGetCaptureInfo")
      .find(table.stream_get_ctx, "cuStreamGetCtx")
      .find(table.launch_host_func, "cuLaunchHostFunc")
      .find(table.kernel_get_function, "cuKernelGetFunction")
      .find(table.func_load, "cuFuncLoad")
      .find(table.launch_kernel_ex, "cuLaunchKernelEx")
      .find(table.occupancy_max_active_blocks, "cuOccupancyMaxActiveBlocksPerMultiprocessor")
      .find(table.event_create, "cuEventCreate")
      .find(table.event_destroy, "cuEventDestroy")
      .find(table.event_record, "cuEventRecord")
      .find(table.event_synchronize, "cuEventSynchronize")
      .find(table.event_elapsed_time, "cuEventElapsedTime");
}

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
