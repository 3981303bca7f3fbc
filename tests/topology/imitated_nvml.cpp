// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "topology/imitated_nvml.hpp"

#include <cstdint>
#include <cstdio>

namespace heddle::testing {
namespace {

constexpr int invalid_argument = 2;  // NVML's numbers
constexpr int not_supported = 3;
constexpr int driver_not_loaded = 9;

imitated_nvml now;
int open_sessions = 0;

bool fails(const char* function) { return now.failing == function; }

/// Handles are the numbers from 1 on.
const imitated_gpu& gpu_of(nvml::device handle) {
  return now.gpus.at(reinterpret_cast<std::uintptr_t>(handle) - 1);
}

int init() {
  if (fails("nvmlInit_v2")) return driver_not_loaded;
  ++open_sessions;
  return 0;
}
int shutdown() {
  --open_sessions;
  return 0;
}
const char* error_string(int result) {
  return result == driver_not_loaded ? "Driver Not Loaded" : "Not Supported";
}
int get_count(unsigned* count) {
  *count = static_cast<unsigned>(now.gpus.size());
  return fails("nvmlDeviceGetCount_v2") ? not_supported : 0;
}
int get_handle(unsigned index, nvml::device* handle) {
  *handle = reinterpret_cast<nvml::device>(std::uintptr_t{index} + 1);
  return fails("nvmlDeviceGetHandleByIndex_v2") && index == 1 ? not_supported : 0;
}
int get_name(nvml::device handle, char* name, unsigned bytes) {
  std::snprintf(name, bytes, "%s", gpu_of(handle).name.c_str());
  return fails("nvmlDeviceGetName") ? not_supported : 0;
}
int get_pci_info(nvml::device handle, nvml::pci_info* info) {
  info->bus = gpu_of(handle).bus;
  return fails("nvmlDeviceGetPciInfo_v3") ? not_supported : 0;
}
const imitated_link* link_of(nvml::device handle, unsigned link) {
  const auto& links = gpu_of(handle).links;
  return link < links.size() ? &links[link] : nullptr;
}
int get_state(nvml::device handle, unsigned link, int* is_active) {
  const auto* found = link_of(handle, link);
  if (!found) return gpu_of(handle).links.empty() ? not_supported : invalid_argument;
  *is_active = found->is_up ? 1 : 0;
  return 0;
}
int get_remote_pci(nvml::device handle, unsigned link, nvml::pci_info* info) {
  info->bus = link_of(handle, link)->remote_bus;
  return fails("nvmlDeviceGetNvLinkRemotePciInfo_v2") ? not_supported : 0;
}
int get_remote_type(nvml::device handle, unsigned link, int* type) {
  *type = link_of(handle, link)->remote_type;
  return 0;
}
int get_version(nvml::device handle, unsigned link, unsigned* version) {
  *version = link_of(handle, link)->version;
  return *version == 0 ? not_supported : 0;
}
int get_fields(nvml::device handle, int count, nvml::field_value* values) {
  for (int i = 0; i < count; ++i) {
    const bool is_known =
        values[i].field == nvml::field_nvlink_megabytes && gpu_of(handle).megabytes > 0;
    values[i].result = is_known ? 0 : not_supported;
    values[i].value.integer = gpu_of(handle).megabytes;
  }
  return 0;
}

}  // namespace

nvml_in_place::nvml_in_place(const imitated_nvml& what) : nvml_in_place(what, "") {}

nvml_in_place::nvml_in_place(const imitated_nvml& what, const std::string& missing) {
  now = what;
  table_.init = init;
  table_.shutdown = shutdown;
  table_.error_string = error_string;
  table_.device_get_count = get_count;
  table_.device_get_handle_by_index = get_handle;
  table_.device_get_name = get_name;
  table_.device_get_pci_info = get_pci_info;
  if (missing != "nvmlDeviceGetNvLinkState") table_.device_get_nvlink_state = get_state;
  table_.device_get_nvlink_remote_pci_info = get_remote_pci;
  if (missing != "nvmlDeviceGetNvLinkRemoteDeviceType")
    table_.device_get_nvlink_remote_device_type = get_remote_type;
  table_.device_get_nvlink_version = get_version;
  if (missing != "nvmlDeviceGetFieldValues") table_.device_get_field_values = get_fields;
  use_nvml(&table_);
}

nvml_in_place::~nvml_in_place() { use_nvml(nullptr); }

int nvml_in_place::sessions() { return open_sessions; }

}  // namespace heddle::testing
