// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>

#include "device/cuda/gpu.hpp"

namespace heddle::gpu {

/// The GPUs that NVLink switches connect across hosts, as the fabric manager names them: those of
/// one cluster and one clique reach each other's memory.
struct nvlink_domain {
  std::array<unsigned char, 16> cluster{};
  unsigned clique = 0;
  bool operator==(const nvlink_domain&) const = default;
};

/// The functions of NVIDIA's management library that heddle calls. CUDA's headers do not declare
/// them, so they are here as its reference defines them; looked up at run time, and replaced by
/// tests, as the driver's are.
struct nvml {
  using device = struct device_of_nvml*;
  /// nvmlGpuFabricInfo_v2_t.
  struct fabric_info {
    unsigned version;
    unsigned char cluster[16];
    int status;
    unsigned clique;
    unsigned char state;
    unsigned health;
  };
  static constexpr unsigned fabric_info_version = sizeof(fabric_info) | (2u << 24);
  static constexpr unsigned char state_completed = 3;

  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error_string)(int result) = nullptr;
  int (*device_get_handle_by_uuid)(const char* uuid, device* handle) = nullptr;
  int (*device_get_gpu_fabric_info)(device handle, fabric_info* info) = nullptr;
};

/// The domain of a device; nothing, and why, if it is in none.
std::optional<nvlink_domain> find_nvlink_domain(const device_uuid& uuid, std::string& why_not);

/// For tests: from now on this library is asked. Null: this machine's again.
void use_nvml(const nvml* instead);

}  // namespace heddle::gpu
