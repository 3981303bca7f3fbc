// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/nvml.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>

namespace heddle::gpu {
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
    find(library, table.init, "nvmlInit_v2");
    find(library, table.shutdown, "nvmlShutdown");
    find(library, table.error_string, "nvmlErrorString");
    find(library, table.device_get_handle_by_uuid, "nvmlDeviceGetHandleByUUID");
    find(library, table.device_get_gpu_fabric_info, "nvmlDeviceGetGpuFabricInfoV");
  }

 private:
  template <class Function>
  void find(void* library, Function& function, const char* name) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    if (!function && why_not.empty())
      why_not = fmt::format("NVIDIA's management library has no {}", name);
  }
};

std::atomic<const nvml*> nvml_of_tests{nullptr};

const nvml* find_nvml(std::string& why_not) {
  if (const nvml* instead = nvml_of_tests) return instead;
  static const found_nvml found;
  why_not = found.why_not;
  return why_not.empty() ? &found.table : nullptr;
}

/// As the library writes it: GPU-00112233-4455-6677-8899-aabbccddeeff.
std::string text_of(const device_uuid& uuid) {
  std::string text = "GPU";
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid[i]));
  }
  return text;
}

/// The library, started for as long as this lives.
class session {
 public:
  explicit session(const nvml& library) : library_(library), result_(library.init()) {}
  ~session() {
    if (result_ == 0) library_.shutdown();
  }
  session(const session&) = delete;
  session& operator=(const session&) = delete;
  [[nodiscard]] int result() const { return result_; }

 private:
  const nvml& library_;
  const int result_;
};

}  // namespace

void use_nvml(const nvml* instead) { nvml_of_tests = instead; }

std::optional<nvlink_domain> find_nvlink_domain(const device_uuid& uuid, std::string& why_not) {
  why_not.clear();
  const nvml* library = find_nvml(why_not);
  if (!library) return {};
  const auto failed = [&](int result, const char* asked) {
    if (result != 0) why_not = fmt::format("{} (NVML): {}", asked, library->error_string(result));
    return result != 0;
  };
  const session started(*library);
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
