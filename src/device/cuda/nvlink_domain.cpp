// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/nvlink_domain.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "support/nvml.hpp"

namespace heddle::gpu {
namespace {

/// As the library writes it: GPU-00112233-4455-6677-8899-aabbccddeeff.
std::string text_of(const device_uuid& uuid) {
  std::string text = "GPU";
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid[i]));
  }
  return text;
}

}  // namespace

std::optional<nvlink_domain> find_nvlink_domain(const device_uuid& uuid, std::string& why_not) {
  why_not.clear();
  const nvml* library = find_nvml(why_not);
  if (!library) return {};
  if (!library->device_get_handle_by_uuid || !library->device_get_gpu_fabric_info) {
    why_not = "NVIDIA's management library has no nvmlDeviceGetGpuFabricInfoV: it is too old";
    return {};
  }
  const auto failed = [&](int result, const char* asked) {
    if (result != 0) why_not = fmt::format("{} (NVML): {}", asked, library->error_string(result));
    return result != 0;
  };
  const nvml_session started(*library);
  if (failed(started.result(), "starting NVIDIA's management library")) return {};
  nvml::device device = nullptr;
  if (failed(library->device_get_handle_by_uuid(text_of(uuid).c_str(), &device),
             "looking up the device"))
    return {};
  nvml::fabric_info info{};
  info.version = nvml::fabric_info_version;
  if (failed(library->device_get_gpu_fabric_info(device, &info), "asking for its NVLink domain"))
    return {};
  if (info.state != nvml::state_completed) {
    why_not = fmt::format("the fabric manager has not made it part of an NVLink domain (state {})",
                          info.state);
    return {};
  }
  if (failed(info.status, "joining its NVLink domain")) return {};
  nvlink_domain domain;
  std::copy(std::begin(info.cluster), std::end(info.cluster), domain.cluster.begin());
  domain.clique = info.clique;
  // A single host's switches are a domain without a name.
  if (domain.cluster == decltype(domain.cluster){}) {
    why_not = "its NVLink domain is its host's alone";
    return {};
  }
  return domain;
}

}  // namespace heddle::gpu
