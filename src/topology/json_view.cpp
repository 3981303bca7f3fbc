// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "topology/analysis.hpp"
#include "topology/views.hpp"

namespace heddle::topology {
namespace {

using nlohmann::ordered_json;

ordered_json index_or_null(int index) { return index < 0 ? ordered_json() : ordered_json(index); }

void add(ordered_json& to, const locality& where) {
  to["package"] = index_or_null(where.package);
  to["numa_node"] = index_or_null(where.numa_node);
}

void add(ordered_json& to, const pci_place& place) {
  to["address"] = place.address;
  to["bridge"] = index_or_null(place.bridge);
  to["pcie_gigabytes"] = place.gigabytes;
  add(to, place.where);
}

template <class Rows, class Describe>
ordered_json list(const Rows& rows, Describe&& describe) {
  auto result = ordered_json::array();
  for (const auto& each : rows) result.push_back(describe(each));
  return result;
}

ordered_json fields_of(const package& package) {
  return {{"number", package.number}, {"model", package.model}, {"cores", package.cores}};
}

ordered_json fields_of(const numa_node& node) {
  return {{"number", node.number},
          {"package", index_or_null(node.package)},
          {"cores", node.cores},
          {"threads", node.threads},
          {"memory_bytes", node.memory_bytes},
          {"processors", node.processors},
          {"last_level_caches", node.caches},
          {"cache_level", node.cache_level},
          {"cache_bytes", node.cache_bytes}};
}

ordered_json fields_of(const bridge& bridge) {
  ordered_json result = {{"address", bridge.address}, {"parent", index_or_null(bridge.parent)}};
  add(result, bridge.where);
  return result;
}

ordered_json fields_of(const nvlinks& links) {
  constexpr const char* kinds[] = {"gpu", "nvswitch", "other"};
  return {{"to", kinds[static_cast<int>(links.peer)]},
          {"index", index_or_null(links.index)},
          {"count", links.count},
          {"gigabytes", links.gigabytes}};
}

ordered_json fields_of(const gpu& gpu) {
  ordered_json result = {{"name", gpu.name}};
  add(result, gpu.place);
  result["nvlinks"] = list(gpu.links, [](const auto& each) { return fields_of(each); });
  result["nvlinks_down"] = gpu.links_down;
  return result;
}

ordered_json fields_of(const nvswitch& nvswitch) {
  auto result = ordered_json::object();
  add(result, nvswitch.place);
  return result;
}

ordered_json fields_of(const nic_port& port) {
  return {{"name", port.name},
          {"state", port.state},
          {"gigabits", port.gigabits},
          {"rdma", port.is_rdma}};
}

ordered_json fields_of(const nic& nic) {
  ordered_json result = {{"name", nic.name()}, {"model", nic.model}};
  add(result, nic.place);
  result["ports"] = list(nic.ports, [](const auto& each) { return fields_of(each); });
  return result;
}

ordered_json fields_of(const pe& pe) {
  ordered_json result = {{"pe", pe.rank},
                         {"device", pe.device},
                         {"gpu", index_or_null(pe.gpu)},
                         {"processors", pe.processors}};
  add(result, pe.where);
  return result;
}

ordered_json paths(const analysis& found) {
  const auto matrix = [&](auto&& describe_path) {
    return list(found.paths, [&](const auto& row) { return list(row, describe_path); });
  };
  return {{"devices", found.names},
          {"kinds", matrix([](const path& path) { return ordered_json(path.text()); })},
          {"bandwidth",
           matrix([](const path& path) { return ordered_json(name_of(path.bandwidth())); })},
          {"gigabytes", matrix([](const path& path) { return ordered_json(path.gigabytes); })}};
}

ordered_json ring_of(const analysis& found) {
  if (found.members.empty()) return nullptr;
  ordered_json result = {{"of", found.members_are_pes ? "PE" : "GPU"},
                         {"order", ordered_json::array()},
                         {"by_kind", ordered_json::object()}};
  for (const int i : found.best.order)
    result["order"].push_back(found.numbers[static_cast<std::size_t>(i)]);
  for (std::size_t kind = 0; kind < path_kinds; ++kind)
    if (found.best.count[kind] > 0)
      result["by_kind"][std::string(name_of(static_cast<path_kind>(kind)))] =
          found.best.count[kind];
  return result;
}

ordered_json rails(const analysis& found) {
  auto result = ordered_json::array();
  for (std::size_t i = 0; i < found.rails.size(); ++i)
    result.push_back({{"of", name_of_member(found, i)},
                      {"nic", index_or_null(found.rails[i].nic)},
                      {"path", found.rails[i].nic < 0 ? "?" : found.rails[i].way.text()}});
  return result;
}

}  // namespace

std::string to_json(const machine& machine) {
  const auto found = analyse(machine);
  const auto all = [](const auto& rows) {
    return list(rows, [](const auto& each) { return fields_of(each); });
  };
  const ordered_json result = {{"name", machine.name},
                               {"source", machine.source},
                               {"packages", all(machine.packages)},
                               {"numa_nodes", all(machine.numa_nodes)},
                               {"bridges", all(machine.bridges)},
                               {"gpus", all(machine.gpus)},
                               {"nvswitches", all(machine.nvswitches)},
                               {"nics", all(machine.nics)},
                               {"pes", all(machine.pes)},
                               {"paths", paths(found)},
                               {"ring", ring_of(found)},
                               {"rails", rails(found)},
                               {"notes", machine.notes}};
  // Names come from firmware and files: what is no UTF-8 in them is replaced.
  return result.dump(2, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace heddle::topology
