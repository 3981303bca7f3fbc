// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace heddle {

/// The functions of NVIDIA's management library that heddle calls. CUDA's headers do not declare
/// them, so they are here as its reference defines them; looked up at run time, and replaced by
/// tests, as the driver's are. Beyond the first three each may be null: an older library has not
/// all of them, and a caller says what it lacks.
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

  /// nvmlPciInfo_t, as the functions with _v2 and _v3 fill it in.
  struct pci_info {
    char bus_id_legacy[16];
    unsigned domain;
    unsigned bus;
    unsigned device;
    unsigned device_id;
    unsigned subsystem_id;
    char bus_id[32];
  };
  /// nvmlFieldValue_t, whose value is a union of numbers.
  struct field_value {
    unsigned field;
    unsigned scope;
    long long timestamp;
    long long latency;
    int type;
    int result;
    union {
      double real;
      unsigned integer;
      unsigned long long long_integer;
    } value;
  };
  static constexpr unsigned field_nvlink_megabytes = 90;  ///< NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON
  static constexpr unsigned max_nvlinks = 18;             ///< NVML_NVLINK_MAX_LINKS
  static constexpr int remote_gpu = 0;
  static constexpr int remote_nvswitch = 2;

  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error_string)(int result) = nullptr;
  int (*device_get_handle_by_uuid)(const char* uuid, device* handle) = nullptr;
  int (*device_get_gpu_fabric_info)(device handle, fabric_info* info) = nullptr;
  int (*device_get_count)(unsigned* count) = nullptr;
  int (*device_get_handle_by_index)(unsigned index, device* handle) = nullptr;
  int (*device_get_name)(device handle, char* name, unsigned bytes) = nullptr;
  int (*device_get_pci_info)(device handle, pci_info* info) = nullptr;
  int (*device_get_nvlink_state)(device handle, unsigned link, int* is_active) = nullptr;
  int (*device_get_nvlink_remote_pci_info)(device handle, unsigned link, pci_info* info) = nullptr;
  int (*device_get_nvlink_remote_device_type)(device handle, unsigned link, int* type) = nullptr;
  int (*device_get_nvlink_version)(device handle, unsigned link, unsigned* version) = nullptr;
  int (*device_get_field_values)(device handle, int count, field_value* values) = nullptr;
};

/// The library of this machine, loaded on the first call; null, and why, if there is none.
const nvml* find_nvml(std::string& why_not);

/// For tests: from now on this library is found. Null: this machine's again.
void use_nvml(const nvml* instead);

/// The library, started for as long as this lives.
class nvml_session {
 public:
  explicit nvml_session(const nvml& library);
  ~nvml_session();
  nvml_session(const nvml_session&) = delete;
  nvml_session& operator=(const nvml_session&) = delete;
  /// Of starting it; 0: it has started.
  [[nodiscard]] int result() const { return result_; }

 private:
  const nvml& library_;
  const int result_;
};

}  // namespace heddle
