// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "core_binding.hpp"

#include <hwloc.h>
#include <hwloc/glibc-sched.h>

#include <memory>
#include <type_traits>

#include "support/throw_error.hpp"

namespace heddle::run {
namespace {

using topology =
    std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, decltype(&::hwloc_topology_destroy)>;

/// Cores alone: the rest of the machine takes longer to look at than the PEs take to start.
topology load_cores() {
  hwloc_topology_t raw = nullptr;
  if (::hwloc_topology_init(&raw) != 0)
    throw_error(HEDDLE_ERROR_SYSTEM,
                "asked hwloc for this machine's cores, it failed; --bind-to none "
                "does without");
  topology owner(raw, &::hwloc_topology_destroy);
  ::hwloc_topology_set_all_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  ::hwloc_topology_set_type_filter(raw, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
  ::hwloc_topology_set_flags(
      raw, HWLOC_TOPOLOGY_FLAG_RESTRICT_TO_CPUBINDING | HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM);
  if (::hwloc_topology_load(raw) != 0)
    throw_error(HEDDLE_ERROR_SYSTEM,
                "asked hwloc for this machine's cores, it failed; --bind-to none "
                "does without");
  return owner;
}

}  // namespace

std::vector<cpu_set_t> choose_cores(binding wanted, int size) {
  cpu_set_t mine;
  if (wanted == binding::none ||
      (wanted == binding::automatic && ::sched_getaffinity(0, sizeof mine, &mine) == 0 &&
       CPU_COUNT(&mine) < size))
    return {};
  auto cores = load_cores();
  const int count = ::hwloc_get_nbobjs_by_type(cores.get(), HWLOC_OBJ_CORE);
  if (count < size) {
    if (wanted == binding::automatic) return {};
    throw_error(
        HEDDLE_ERROR_INVALID_ARGUMENT,
        "asked to bind {} PEs to a core each; this process may use {} cores; take fewer PEs or "
        "--bind-to none",
        size, count);
  }
  std::vector<cpu_set_t> chosen;
  for (int pe = 0; pe < size; ++pe) {
    auto* core = ::hwloc_get_obj_by_type(cores.get(), HWLOC_OBJ_CORE, static_cast<unsigned>(pe));
    cpu_set_t set;
    ::hwloc_cpuset_to_glibc_sched_affinity(cores.get(), core->cpuset, &set, sizeof set);
    chosen.push_back(set);
  }
  return chosen;
}

}  // namespace heddle::run
