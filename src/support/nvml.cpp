// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "support/nvml.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <atomic>

namespace heddle {
namespace {

struct found_nvml {
  nvml table;
  std::string why_not;

  found_nvml() {
    // Never closed: what it started may still run.
    void* library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      why_not = "NVIDIA's management library (libnvidia-ml.so.1) is not found";
      return;
    }
    require(library, table.init, "nvmlInit_v2");
    require(library, table.shutdown, "nvmlShutdown");
    require(library, table.error_string, "nvmlErrorString");
    find(library, table.device_get_handle_by_uuid, "nvmlDeviceGetHandleByUUID");
    find(library, table.device_get_gpu_fabric_info, "nvmlDeviceGetGpuFabricInfoV");
    find(library, table.device_get_count, "nvmlDeviceGetCount_v2");
    find(library, table.device_get_handle_by_index, "nvmlDeviceGetHandleByIndex_v2");
    find(library, table.device_get_name, "nvmlDeviceGetName");
    find(library, table.device_get_pci_info, "nvmlDeviceGetPciInfo_v3");
    find(library, table.device_get_nvlink_state, "nvmlDeviceGetNvLinkState");
    find(library, table.device_get_nvlink_remote_pci_info, "nvmlDeviceGetNvLinkRemotePciInfo_v2");
    find(library, table.device_get_nvlink_remote_device_type,
         "nvmlDeviceGetNvLinkRemoteDeviceType");
    find(library, table.device_get_nvlink_version, "nvmlDeviceGetNvLinkVersion");
    find(library, table.device_get_field_values, "nvmlDeviceGetFieldValues");
  }

 private:
  template <class Function>
  static void find(void* library, Function& function, const char* name) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
  }
  template <class Function>
  void require(void* library, Function& function, const char* name) {
    find(library, function, name);
    if (!function && why_not.empty())
      why_not = fmt::format("NVIDIA's management library has no {}", name);
  }
};

std::atomic<const nvml*> nvml_of_tests{nullptr};

}  // namespace

void use_nvml(const nvml* instead) { nvml_of_tests = instead; }

const nvml* find_nvml(std::string& why_not) {
  if (const nvml* instead = nvml_of_tests) return instead;
  static const found_nvml found;
  why_not = found.why_not;
  return why_not.empty() ? &found.table : nullptr;
}

nvml_session::nvml_session(const nvml& library) : library_(library), result_(library.init()) {}

nvml_session::~nvml_session() {
  if (result_ == 0) library_.shutdown();
}

}  // namespace heddle
