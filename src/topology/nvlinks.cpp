// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "topology/nvlinks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "support/nvml.hpp"

namespace heddle::topology {
namespace {

/// As /sys/bus/pci/devices writes it. GPUs and switches have function 0 alone.
std::string address_of(const nvml::pci_info& info) {
  return fmt::format("{:04x}:{:02x}:{:02x}.0", info.domain, info.bus, info.device);
}

/// The device at that address; a new one, if there is none.
template <class Device>
int find_or_add(std::vector<Device>& devices, const std::string& address) {
  for (std::size_t i = 0; i < devices.size(); ++i)
    if (devices[i].place.address == address) return static_cast<int>(i);
  devices.emplace_back().place.address = address;
  return static_cast<int>(devices.size()) - 1;
}

/// A link that is up. The speed is 0 if NVML does not tell.
struct link {
  int remote_type = -1;
  std::string remote;  ///< an address; empty if NVML does not tell
  double gigabytes = 0;
};

/// What the library has, asked for one GPU after the other.
class nvlinks_reader {
 public:
  nvlinks_reader(const nvml& library, machine& machine) : library_(library), machine_(machine) {}

  void read() {
    unsigned count = 0;
    if (const int result = library_.device_get_count(&count))
      return note("counting the GPUs", result);
    std::vector<int> found;
    std::vector<nvml::device> handles;
    for (unsigned i = 0; i < count; ++i) {
      nvml::device handle = nullptr;
      nvml::pci_info info{};
      int result = library_.device_get_handle_by_index(i, &handle);
      if (result == 0) result = library_.device_get_pci_info(handle, &info);
      if (result != 0) {
        note(fmt::format("GPU {}", i), result);
        continue;
      }
      found.push_back(find_or_add(machine_.gpus, address_of(info)));
      handles.push_back(handle);
      char name[96] = {};
      if (library_.device_get_name(handle, name, sizeof name) == 0 && name[0] != 0)
        machine_.gpus[at(found.back())].name = name;
    }
    // All addresses are known now: a link to none of them does not lead to a GPU.
    for (std::size_t i = 0; i < found.size(); ++i) read_links(handles[i], found[i]);
  }

 private:
  void note(const std::string& asked, int result) {
    machine_.notes.push_back(
        fmt::format("NVLink is not known: {} (NVML): {}", asked, library_.error_string(result)));
  }

  void read_links(nvml::device handle, int gpu) {
    machine_.gpus[at(gpu)].links.clear();
    machine_.gpus[at(gpu)].links_down = 0;
    const double speed = common_speed(handle);
    for (unsigned i = 0; i < nvml::max_nvlinks; ++i) {
      int is_active = 0;
      // Beyond the last link, and for a GPU without any: an error.
      if (library_.device_get_nvlink_state(handle, i, &is_active) != 0) break;
      if (!is_active) {
        ++machine_.gpus[at(gpu)].links_down;
        continue;
      }
      add(gpu, read_link(handle, i, speed));
    }
  }

  link read_link(nvml::device handle, unsigned number, double speed) {
    link found{.remote_type = -1, .remote = {}, .gigabytes = speed};
    nvml::pci_info info{};
    if (library_.device_get_nvlink_remote_pci_info(handle, number, &info) == 0)
      found.remote = address_of(info);
    if (library_.device_get_nvlink_remote_device_type)
      (void)library_.device_get_nvlink_remote_device_type(handle, number, &found.remote_type);
    unsigned version = 0;
    if (speed == 0 && library_.device_get_nvlink_version &&
        library_.device_get_nvlink_version(handle, number, &version) == 0)
      // By the versions' nominal speeds. Some drivers tell version 7 of GPUs that have 6: then the
      // common speed, which they tell too, is the right one.
      found.gigabytes = version == 0 ? 0 : version == 1 ? 20 : version < 7 ? 25 : 50;
    return found;
  }

  /// GB/s of each active link, 0 if the library does not tell.
  double common_speed(nvml::device handle) {
    nvml::field_value asked{};
    asked.field = nvml::field_nvlink_megabytes;
    if (!library_.device_get_field_values ||
        library_.device_get_field_values(handle, 1, &asked) != 0 || asked.result != 0)
      return 0;
    return asked.value.integer / 1000.0;
  }

  void add(int gpu, const link& link) {
    nvlinks one{.count = 1, .gigabytes = link.gigabytes};
    const auto peer =
        std::find_if(machine_.gpus.begin(), machine_.gpus.end(), [&](const auto& each) {
          return !link.remote.empty() && each.place.address == link.remote;
        });
    if (peer != machine_.gpus.end()) {
      one.peer = nvlinks::kind::gpu;
      one.index = static_cast<int>(peer - machine_.gpus.begin());
    } else if (link.remote_type == nvml::remote_nvswitch) {
      one.peer = nvlinks::kind::nvswitch;
      one.index = find_or_add(machine_.nvswitches, link.remote);
    }
    auto& links = machine_.gpus[at(gpu)].links;
    const auto same = std::find_if(links.begin(), links.end(), [&](const auto& each) {
      return each.peer == one.peer && each.index == one.index && each.gigabytes == one.gigabytes;
    });
    if (same == links.end())
      links.push_back(one);
    else
      ++same->count;
  }

  const nvml& library_;
  machine& machine_;
};

}  // namespace

void add_nvlinks(machine& machine) {
  const auto note = [&](const std::string& why) {
    machine.notes.push_back("NVLink is not known: " + why);
  };
  std::string why_not;
  const auto* library = find_nvml(why_not);
  if (!library) return note(why_not);
  if (!library->device_get_count || !library->device_get_handle_by_index ||
      !library->device_get_name || !library->device_get_pci_info ||
      !library->device_get_nvlink_state || !library->device_get_nvlink_remote_pci_info)
    return note("NVIDIA's management library is too old to tell of it");
  const nvml_session started(*library);
  if (started.result() != 0)
    return note(fmt::format("starting NVIDIA's management library (NVML): {}",
                            library->error_string(started.result())));
  nvlinks_reader(*library, machine).read();
  sort_gpus(machine);
}

}  // namespace heddle::topology
