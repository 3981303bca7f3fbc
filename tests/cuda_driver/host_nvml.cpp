// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "cuda_driver/host_nvml.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace heddle::gpu::host_nvml {
namespace {

constexpr int failure = 999;
answers now;
std::atomic<int> open_sessions{0};

int result_of(const char* function) { return now.failing == function ? failure : 0; }

int init() {
  const int result = result_of("nvmlInit_v2");
  if (result == 0) ++open_sessions;
  return result;
}
int shutdown() {
  --open_sessions;
  return 0;
}
const char* error_string(int) { return "an error of the host's NVML"; }
int device_get_handle_by_uuid(const char* uuid, nvml::device* handle) {
  // "host-gpu-" of the driver's names, in hexadecimal.
  if (std::strncmp(uuid, "GPU-686f7374-2d67-7075-2d", 25) != 0 || std::strlen(uuid) != 40)
    return failure;
  *handle = reinterpret_cast<nvml::device>(&now);
  return result_of("nvmlDeviceGetHandleByUUID");
}
int device_get_gpu_fabric_info(nvml::device, nvml::fabric_info* info) {
  if (info->version != nvml::fabric_info_version) return failure;
  std::fill(std::begin(info->cluster), std::end(info->cluster), now.cluster);
  info->clique = now.clique;
  info->state = now.state;
  info->status = now.status;
  return result_of("nvmlDeviceGetGpuFabricInfoV");
}

}  // namespace

const nvml& start(const answers& answers) {
  now = answers;
  static const nvml table{init, shutdown, error_string, device_get_handle_by_uuid,
                          device_get_gpu_fabric_info};
  return table;
}

int sessions() { return open_sessions; }

}  // namespace heddle::gpu::host_nvml
