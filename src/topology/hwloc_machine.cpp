// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <hwloc.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <mutex>
#include <set>
#include <system_error>

#include "support/throw_error.hpp"
#include "topology/hwloc_devices.hpp"
#include "topology/read_machine.hpp"

namespace heddle::topology {
namespace {

/// Freed as hwloc wants it.
struct destroy {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using owned_topology = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, destroy>;

/// Null, and errno, if hwloc cannot.
owned_topology load(const std::string& file) {
  // libudev, which hwloc asks for devices, has state of its process that nothing guards.
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  hwloc_topology_t made = nullptr;
  if (hwloc_topology_init(&made) != 0) return nullptr;
  owned_topology topology(made);
  hwloc_topology_set_io_types_filter(made, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  // What these would tell of GPUs comes from NVML here; they start drivers, which takes long. "pci"
  // would tell names of devices besides what Linux tells, and leaks its list of them in every call.
  for (const char* component : {"pci", "cuda", "nvml", "opencl", "rsmi", "levelzero", "gl"})
    (void)hwloc_topology_set_components(made, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, component);
  if (!file.empty() && hwloc_topology_set_xml(made, file.c_str()) != 0) return nullptr;
  return hwloc_topology_load(made) == 0 ? std::move(topology) : nullptr;
}

int count(hwloc_topology_t topology, hwloc_const_cpuset_t processors, hwloc_obj_type_t type) {
  return std::max(0, hwloc_get_nbobjs_inside_cpuset_by_type(topology, processors, type));
}

void read_packages(hwloc_topology_t topology, machine& result) {
  const auto add = [&](hwloc_obj_t object) {
    auto& made = result.packages.emplace_back();
    made.number = object->type == HWLOC_OBJ_PACKAGE ? static_cast<int>(object->os_index) : 0;
    if (const char* model = hwloc_obj_get_info_by_name(object, "CPUModel")) made.model = model;
    made.cores = count(topology, object->cpuset, HWLOC_OBJ_CORE);
  };
  hwloc_obj_t package = nullptr;
  while ((package = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PACKAGE, package))) add(package);
  // Some systems do not tell: then it is one.
  if (result.packages.empty()) add(hwloc_get_root_obj(topology));
}

void read_caches(hwloc_topology_t topology, hwloc_const_cpuset_t processors, numa_node& node) {
  const std::pair<hwloc_obj_type_t, int> levels[] = {{HWLOC_OBJ_L5CACHE, 5},
                                                     {HWLOC_OBJ_L4CACHE, 4},
                                                     {HWLOC_OBJ_L3CACHE, 3},
                                                     {HWLOC_OBJ_L2CACHE, 2}};
  for (const auto& [type, level] : levels) {
    auto* first = hwloc_get_obj_inside_cpuset_by_type(topology, processors, type, 0);
    node.caches = count(topology, processors, type);
    // One that several nodes share.
    for (hwloc_obj_t each = nullptr;
         !first && (each = hwloc_get_next_obj_by_type(topology, type, each));)
      if (hwloc_bitmap_isincluded(processors, each->cpuset)) first = each;
    if (!first) continue;
    node.caches = std::max(1, node.caches);
    node.cache_level = level;
    node.cache_bytes = first->attr->cache.size;
    return;
  }
}

void read_numa_nodes(hwloc_topology_t topology, machine& result) {
  std::set<std::string> seen;  // processors: memory beside that of a node has the same
  hwloc_obj_t object = nullptr;
  while ((object = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, object))) {
    numa_node node;
    node.number = static_cast<int>(object->os_index);
    node.memory_bytes = object->attr->numanode.local_memory;
    node.processors = list_of(object->cpuset);
    int packages = 0;
    for (std::size_t i = 0; i < result.packages.size(); ++i) {
      auto* package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, static_cast<unsigned>(i));
      if (package && !hwloc_bitmap_intersects(object->cpuset, package->cpuset)) continue;
      node.package = static_cast<int>(i);
      ++packages;
    }
    if (packages > 1) node.package = -1;
    if (!hwloc_bitmap_iszero(object->cpuset) && seen.insert(node.processors).second) {
      node.cores = count(topology, object->cpuset, HWLOC_OBJ_CORE);
      node.threads = count(topology, object->cpuset, HWLOC_OBJ_PU);
      // Some systems tell of hardware threads alone.
      if (node.cores == 0) node.cores = node.threads;
      read_caches(topology, object->cpuset, node);
    }
    result.numa_nodes.push_back(std::move(node));
  }
}

std::string name_of_machine(hwloc_topology_t topology, bool is_here) {
  if (const char* name = hwloc_obj_get_info_by_name(hwloc_get_root_obj(topology), "HostName"))
    return name;
  char name[256] = {};
  if (is_here) ::gethostname(name, sizeof name - 1);
  return is_here ? name : "a machine without a name";
}

[[noreturn]] void refuse(const std::string& file, int error_number) {
  if (::access(file.c_str(), R_OK) != 0)
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT, "{} cannot be read: {}", file,
                std::generic_category().message(errno));
  throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
              "{} is not a machine in hwloc's XML{}; `lstopo FILE.xml` writes one", file,
              error_number == 0 || error_number == EINVAL
                  ? std::string()
                  : fmt::format(" ({})", std::generic_category().message(error_number)));
}

}  // namespace

machine read_hwloc(const std::string& file, bool& is_here) {
  errno = 0;
  const auto topology = load(file);
  const int error_number = errno;
  machine result;
  is_here = file.empty();
  if (!topology) {
    if (!file.empty()) refuse(file, error_number);
    result.notes.push_back(fmt::format("Processors, PCIe and NICs are not known: hwloc fails: {}",
                                       std::generic_category().message(error_number)));
    return result;
  }
  is_here = is_here && hwloc_topology_is_thissystem(topology.get()) != 0;
  result.name = name_of_machine(topology.get(), is_here);
  if (!is_here) result.source = file.empty() ? "HWLOC_XMLFILE" : file;
  read_packages(topology.get(), result);
  read_numa_nodes(topology.get(), result);
  read_hwloc_devices(topology.get(), result);
  return result;
}

}  // namespace heddle::topology
