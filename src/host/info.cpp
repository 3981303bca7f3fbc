// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "bootstrap/host_identity.hpp"
#include "host/fabrics.hpp"
#include "host/guarded_call.hpp"
#include "host/network_choice.hpp"
#include "host/runtime.hpp"
#include "host/transport/verbs/port_choice.hpp"
#include "host/transport/verbs/port_list.hpp"
#include "symmetric_heap/memory_file.hpp"
#if defined(HEDDLE_HAVE_HWLOC)
#include <hwloc.h>
#endif

using nlohmann::ordered_json;

namespace {

ordered_json version() {
  int major = 0;
  int minor = 0;
  int patch = 0;
  heddle_get_version(&major, &minor, &patch);
  return {{"library", fmt::format("{}.{}.{}", major, minor, patch)},
          {"layout", +heddle::team_ref::layout}};
}

#if defined(HEDDLE_HAVE_HWLOC)
void add_topology(ordered_json& machine) {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return;
  const std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, decltype(&hwloc_topology_destroy)>
      owner(topology, hwloc_topology_destroy);
  if (hwloc_topology_load(topology) != 0) return;
  machine["packages"] = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE);
  machine["numa_nodes"] = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE);
  if (hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0))
    if (const char* model = hwloc_obj_get_info_by_name(package, "CPUModel")) machine["cpu"] = model;
}
#endif

ordered_json machine() {
  char hostname[256] = {};
  ::gethostname(hostname, sizeof hostname - 1);
  ordered_json result = {{"hostname", hostname},
                         {"host_identity", heddle::host_identity()},
                         {"cores", std::thread::hardware_concurrency()},
                         {"memory_bytes", static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                                              static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))},
                         {"page_bytes", ::sysconf(_SC_PAGESIZE)},
                         {"huge_pages_shared", heddle::huge_page_support()}};
#if defined(HEDDLE_HAVE_HWLOC)
  add_topology(result);
#endif
  return result;
}

ordered_json devices() {
  auto result = ordered_json::array();
  for (const auto& each : heddle::list_devices()) {
    result.push_back({{"name", each.name}, {"description", each.description}});
    if (!each.sharing.empty()) result.back()["sharing"] = each.sharing;
  }
  return result;
}

/// heddle-info is where one looks when the variables are wrong: then as if they were not set.
heddle::environment settings() {
  try {
    return heddle::environment::from_process();
  } catch (const heddle::error&) {
    return {};
  }
}

ordered_json fabrics() {
  auto result = ordered_json::array();
  const auto wanted = settings();
  for (const auto& each : heddle::find_fabrics(wanted, heddle::wants_cards_only(wanted))) {
    result.push_back({{"provider", each.provider}, {"interface", each.interface}});
    if (!each.address.empty()) result.back()["address"] = each.address;
    result.back()["verdict"] = each.verdict;
    if (!each.promises.empty()) result.back()["promises"] = each.promises;
  }
  return result;
}

ordered_json rdma_ports() {
  namespace verbs = heddle::verbs;
  const auto wanted = settings();
  auto result = ordered_json::array();
  std::string why_none;
  const auto ports = verbs::list_ports(wanted.ib_gid_index, heddle::place_of_thread(), why_none);
  if (ports.empty()) result.push_back({{"none", why_none}});
  const auto choice = verbs::choose_ports(ports, {wanted.ib_hca});
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const auto& port = ports[i];
    auto gids = ordered_json::array();
    for (const auto& gid : port.gids)
      gids.push_back(
          fmt::format("{}: {} {}", gid.index, verbs::text_of(gid.kind), verbs::text_of(gid.value)));
    result.push_back({{"port", port.name()},
                      {"state", port.state},
                      {"link", verbs::text_of(port.link)},
                      {"gigabits_per_second", port.gigabits},
                      {"mtu", port.mtu},
                      {"distance", heddle::text_of(port.distance)},
                      {"use", choice.reasons[i]},
                      {"gid", fmt::format("{}: {}", port.chosen_gid, port.why_gid)},
                      {"gids", std::move(gids)}});
  }
  return result;
}

/// How this PE reaches `pe`, and why so.
std::pair<std::string, std::string> path_to(heddle_runtime& runtime, int pe) {
  if (pe == runtime.my_pe()) return {"self", "this PE"};
  if (runtime.slot_of(pe) >= 0)
    return {"mapped", "the same host: its heap is in this process's arena"};
  const bool is_mapped = runtime.heap().slot_of(pe) >= 0;
  const auto why =
      is_mapped ? "it does not map this PE's memory" : runtime.heap().memory().why_not_mapped(pe);
  if (auto* network = runtime.network())
    return {"network",
            fmt::format("{} on host {}: {}", network->describe(pe), network->host_name(pe), why)};
  return {"none", fmt::format("{} ({}), and there is no network: {}", why,
                              runtime.bootstrap().host_of(pe), runtime.why_no_network())};
}

ordered_json peers(heddle_runtime& runtime) {
  auto result = ordered_json::array();
  for (int pe = 0; pe < runtime.n_pes(); ++pe) {
    const auto [path, reason] = path_to(runtime, pe);
    result.push_back({{"pe", pe}, {"path", path}, {"reason", reason}});
  }
  return result;
}

ordered_json variables() {
  auto result = ordered_json::array();
  for (const auto& row : heddle::environment::describe())
    result.push_back({{"name", row.name},
                      {"value", row.value},
                      {"default", row.default_value},
                      {"meaning", row.meaning},
                      {"set", row.is_set}});
  return result;
}

}  // namespace

heddle_status_t heddle_info_json(heddle_runtime_t runtime, char** json) {
  return heddle::guarded([&] {
    auto& out = heddle::required(json, "heddle_info_json", "json");
    if (runtime) (void)heddle::required(runtime, "heddle_info_json", "runtime");
    ordered_json all = {{"version", version()},           {"machine", machine()},
                        {"devices", devices()},           {"fabrics", fabrics()},
                        {"rdma_ports", rdma_ports()},     {"job", nullptr},
                        {"peers", ordered_json::array()}, {"variables", variables()}};
    if (runtime) {
      const auto& bootstrap = runtime->bootstrap();
      const auto& memory = runtime->heap().memory();
      all["job"] = {{"bootstrap", bootstrap.name()},
                    {"job_id", bootstrap.job_id()},
                    {"my_pe", runtime->my_pe()},
                    {"n_pes", runtime->n_pes()},
                    {"multicast_bytes", memory.multicast_size()},
                    {"why_no_multicast", memory.why_no_multicast()}};
      if (auto* network = runtime->network()) {
        all["job"]["network"] = network->about().name;
        if (!network->why_no_other().empty())
          all["job"]["why_no_other_network"] = network->why_no_other();
        all["job"]["proxy_processors"] =
            network->processors().empty() ? "any" : network->processors();
        all["job"]["cards_reach_gpu"] = network->reaches_gpu();
      }
      for (const auto& [name, cost] : heddle::entries(runtime->tuning(), runtime->n_pes()))
        all["job"]["tuning"][std::string(name)] = {{"fixed_ns", cost.hop_ns},
                                                   {"ns_per_kib", cost.ns_per_kib}};
      all["peers"] = peers(*runtime);
    }
    // Variables and names of the system may hold any bytes.
    const std::string text = all.dump(2, ' ', false, ordered_json::error_handler_t::replace);
    out = ::strdup(text.c_str());
    if (!out) throw std::bad_alloc();
  });
}

void heddle_string_free(char* text) { std::free(text); }
