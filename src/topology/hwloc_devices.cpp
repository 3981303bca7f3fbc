// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "topology/hwloc_devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>

namespace heddle::topology {
namespace {

constexpr unsigned nvidia = 0x10de;
constexpr unsigned amd = 0x1002;
constexpr unsigned intel = 0x8086;

std::string info_of(hwloc_obj_t object, const char* name) {
  const char* value = hwloc_obj_get_info_by_name(object, name);
  return value ? value : "";
}

std::string address_of(const hwloc_obj_attr_u::hwloc_pcidev_attr_s& device) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", device.domain, device.bus, device.dev,
                     device.func);
}

bool is_nvswitch(hwloc_obj_t object) {
  const auto& device = object->attr->pcidev;
  return device.vendor_id == nvidia && device.class_id == 0x0680;
}

/// The displays of servers' management controllers are none.
bool is_gpu(hwloc_obj_t object) {
  const auto& device = object->attr->pcidev;
  const unsigned base_class = device.class_id >> 8;
  const bool is_ours =
      device.vendor_id == nvidia || device.vendor_id == amd || device.vendor_id == intel;
  return (base_class == 0x03 && is_ours) || (base_class == 0x12 && device.vendor_id == amd);
}

const char* maker_of(unsigned vendor) {
  return vendor == nvidia ? "NVIDIA" : vendor == amd ? "AMD" : "Intel";
}

/// Ethernet and the like, or InfiniBand by its old class.
bool is_nic(hwloc_obj_t object) {
  const auto& device = object->attr->pcidev;
  return device.class_id >> 8 == 0x02 || device.class_id == 0x0c06;
}

class device_reader {
 public:
  device_reader(hwloc_topology_t topology, machine& machine)
      : topology_(topology), machine_(machine) {}

  void read() {
    // Parents first.
    hwloc_obj_t bridge = nullptr;
    while ((bridge = hwloc_get_next_bridge(topology_, bridge))) (void)index_of(bridge);
    hwloc_obj_t device = nullptr;
    while ((device = hwloc_get_next_pcidev(topology_, device))) {
      if (is_gpu(device)) add_gpu(device);
      if (is_nvswitch(device)) {
        nvswitches_[device] = static_cast<int>(machine_.nvswitches.size());
        machine_.nvswitches.emplace_back().place = place_of(device);
      }
      if (is_nic(device)) add_nic(device);
    }
    read_nvlinks();
    sort_gpus(machine_);
  }

 private:
  int index_of(hwloc_obj_t object) {
    if (const auto known = bridges_.find(object); known != bridges_.end()) return known->second;
    const auto& attributes = object->attr->bridge;
    bridge made;
    if (attributes.upstream_type == HWLOC_OBJ_BRIDGE_HOST) {
      made.address = fmt::format("{:04x}:{:02x}", attributes.downstream.pci.domain,
                                 attributes.downstream.pci.secondary_bus);
    } else {
      made.address = address_of(attributes.upstream.pci);
      if (object->parent && object->parent->type == HWLOC_OBJ_BRIDGE)
        made.parent = index_of(object->parent);
    }
    made.where = where_is(object);
    const int index = static_cast<int>(machine_.bridges.size());
    machine_.bridges.push_back(std::move(made));
    return bridges_[object] = index;
  }

  locality where_is(hwloc_obj_t object) {
    const auto* near = hwloc_get_non_io_ancestor_obj(topology_, object);
    return near && near->cpuset ? locate(machine_, list_of(near->cpuset)) : locality{};
  }

  pci_place place_of(hwloc_obj_t object) {
    return {.address = address_of(object->attr->pcidev),
            .bridge = object->parent && object->parent->type == HWLOC_OBJ_BRIDGE
                          ? index_of(object->parent)
                          : -1,
            .where = where_is(object),
            .gigabytes = std::max(0.0, static_cast<double>(object->attr->pcidev.linkspeed))};
  }

  void add_gpu(hwloc_obj_t object) {
    gpus_[object] = static_cast<int>(machine_.gpus.size());
    auto& made = machine_.gpus.emplace_back();
    made.place = place_of(object);
    made.name = info_of(object, "PCIDevice");
    for (auto* child = object->io_first_child; child; child = child->next_sibling)
      if (const auto model = info_of(child, "GPUModel"); !model.empty()) made.name = model;
    if (made.name.empty())
      made.name = fmt::format("{} {:04x}:{:04x}", maker_of(object->attr->pcidev.vendor_id),
                              object->attr->pcidev.vendor_id, object->attr->pcidev.device_id);
  }

  void add_nic(hwloc_obj_t object) {
    auto& made = machine_.nics.emplace_back();
    made.place = place_of(object);
    made.model = info_of(object, "PCIDevice");
    for (auto* child = object->io_first_child; child; child = child->next_sibling) {
      if (child->type != HWLOC_OBJ_OS_DEVICE || !child->name) continue;
      const auto type = child->attr->osdev.type;
      if (type != HWLOC_OBJ_OSDEV_NETWORK && type != HWLOC_OBJ_OSDEV_OPENFABRICS) continue;
      nic_port port;
      port.name = child->name;
      port.is_rdma = type == HWLOC_OBJ_OSDEV_OPENFABRICS;
      if (const auto state = info_of(child, "Port1State"); !state.empty())
        port.state = std::atoi(state.c_str()) == 4 ? "ACTIVE" : "DOWN";
      made.ports.push_back(std::move(port));
    }
  }

  /// hwloc has no number of links, but their bandwidth together (MB/s), of 20 GB/s or 25 each.
  void read_nvlinks() {
    hwloc_distances_s* found = nullptr;
    unsigned count = 1;
    if (hwloc_distances_get_by_name(topology_, "NVLinkBandwidth", &count, &found, 0) != 0 ||
        count == 0 || !found)
      return;
    for (unsigned from = 0; from < found->nbobjs; ++from) {
      const auto gpu = gpus_.find(pci_of(found->objs[from]));
      if (gpu == gpus_.end()) continue;
      for (unsigned to = 0; to < found->nbobjs; ++to) {
        const auto megabytes = static_cast<double>(found->values[from * found->nbobjs + to]);
        if (from == to || megabytes <= 0) continue;
        const double one = std::fmod(megabytes, 25'000) == 0 ? 25'000 : 20'000;
        nvlinks links{.count = std::max(1, static_cast<int>(megabytes / one)),
                      .gigabytes = one / 1000};
        auto* peer = pci_of(found->objs[to]);
        if (const auto other = gpus_.find(peer); other != gpus_.end()) {
          links.peer = nvlinks::kind::gpu;
          links.index = other->second;
        } else if (const auto nvswitch = nvswitches_.find(peer); nvswitch != nvswitches_.end()) {
          links.peer = nvlinks::kind::nvswitch;
          links.index = nvswitch->second;
        }
        machine_.gpus[static_cast<std::size_t>(gpu->second)].links.push_back(links);
      }
    }
    hwloc_distances_release(topology_, found);
  }

  static hwloc_obj_t pci_of(hwloc_obj_t object) {
    while (object && object->type == HWLOC_OBJ_OS_DEVICE) object = object->parent;
    return object;
  }

  hwloc_topology_t topology_;
  machine& machine_;
  std::map<hwloc_obj_t, int> bridges_;
  std::map<hwloc_obj_t, int> gpus_;
  std::map<hwloc_obj_t, int> nvswitches_;
};

}  // namespace

void read_hwloc_devices(hwloc_topology_t topology, machine& machine) {
  device_reader(topology, machine).read();
}

std::string list_of(hwloc_const_bitmap_t set) {
  char* text = nullptr;
  if (hwloc_bitmap_list_asprintf(&text, set) < 0 || !text) return {};
  const std::unique_ptr<char, decltype(&std::free)> owner(text, std::free);
  return text;
}

}  // namespace heddle::topology
