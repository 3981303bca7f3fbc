// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/transport/verbs/port_list.hpp"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>

#include "bootstrap/network_interface.hpp"
#include "host/transport/verbs/gid_choice.hpp"
#include "host/transport/verbs/library.hpp"

namespace heddle::verbs {
namespace {

const char* text_of(ibv_port_state state) {
  constexpr const char* names[] = {"NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"};
  return state < std::size(names) ? names[state] : "unknown";
}

/// Lanes times the speed of each, by the codes of the InfiniBand specification.
double speed_of(const ibv_port_attr& attributes) {
  const int lanes = attributes.active_width == 16  ? 2
                    : attributes.active_width == 2 ? 4
                    : attributes.active_width == 4 ? 8
                    : attributes.active_width == 8 ? 12
                                                   : 1;
  constexpr std::pair<int, double> speeds[] = {{1, 2.5}, {2, 5},   {4, 10},  {8, 10},
                                               {16, 14}, {32, 25}, {64, 50}, {128, 100}};
  for (const auto& [code, gigabits] : speeds)
    if (attributes.active_speed == code) return lanes * gigabits;
  return 0;
}

gid_kind kind_of(const ibv_gid_entry& entry) {
  if (entry.gid_type == IBV_GID_TYPE_IB) return gid_kind::infiniband;
  return entry.gid_type == IBV_GID_TYPE_ROCE_V1 ? gid_kind::roce_v1 : gid_kind::roce_v2;
}

void read_gids(ibv_context* context, int length, rdma_port& port) {
  for (int index = 0; index < length; ++index) {
    ibv_gid_entry found{};
    if (found_library().query_gid_ex(context, static_cast<std::uint32_t>(port.port),
                                     static_cast<std::uint32_t>(index), &found, 0,
                                     sizeof found) != 0)
      continue;
    gid_entry entry{index, {}, kind_of(found), {}};
    std::memcpy(entry.value.data(), found.gid.raw, entry.value.size());
    char interface[IF_NAMESIZE] = {};
    if (found.ndev_ifindex != 0 && ::if_indextoname(found.ndev_ifindex, interface))
      entry.interface = interface;
    port.gids.push_back(std::move(entry));
  }
}

rdma_port read_port(ibv_context* context, const ibv_device_attr& device, int number) {
  rdma_port port;
  port.port = number;
  ibv_port_attr attributes{};
  if (!query_port(context, number, attributes)) {
    port.problem = fmt::format("its port cannot be asked: {}", std::strerror(errno));
    return port;
  }
  port.state = text_of(attributes.state);
  port.link = attributes.link_layer == IBV_LINK_LAYER_ETHERNET ? link_layer::ethernet
              : attributes.link_layer == IBV_LINK_LAYER_INFINIBAND ||
                      attributes.link_layer == IBV_LINK_LAYER_UNSPECIFIED
                  ? link_layer::infiniband
                  : link_layer::other;
  port.gigabits = speed_of(attributes);
  port.mtu = 128 << attributes.active_mtu;
  port.lid = attributes.lid;
  if (context->device->transport_type != IBV_TRANSPORT_IB) {
    port.problem = "it is neither InfiniBand nor RoCE (iWARP connects in another way)";
  } else if (device.max_srq == 0) {
    port.problem = "it has no shared receive queues";
  }
  read_gids(context, attributes.gid_tbl_len, port);
  return port;
}

}  // namespace

std::vector<interface_address> list_interface_addresses() {
  std::vector<interface_address> result;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return result;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  for (const auto* entry = list; entry; entry = entry->ifa_next) {
    if (!entry->ifa_addr || !entry->ifa_netmask || !(entry->ifa_flags & IFF_UP)) continue;
    interface_address address{entry->ifa_name, {}, 0};
    if (entry->ifa_addr->sa_family == AF_INET) {
      address.value[10] = address.value[11] = 0xff;
      std::memcpy(&address.value[12],
                  &reinterpret_cast<const sockaddr_in*>(entry->ifa_addr)->sin_addr, 4);
      address.prefix_bits = 96 + prefix_bits_of(entry->ifa_netmask);
    } else if (entry->ifa_addr->sa_family == AF_INET6) {
      std::memcpy(address.value.data(),
                  &reinterpret_cast<const sockaddr_in6*>(entry->ifa_addr)->sin6_addr, 16);
      address.prefix_bits = prefix_bits_of(entry->ifa_netmask);
    } else {
      continue;
    }
    result.push_back(std::move(address));
  }
  return result;
}

std::vector<rdma_port> list_ports(int wanted_gid, const device_place& near, std::string& why_none) {
  std::vector<rdma_port> result;
  const auto* library = find_library(why_none);
  if (!library) return result;
  int count = 0;
  auto** devices = library->get_device_list(&count);
  const std::unique_ptr<ibv_device*, decltype(library->free_device_list)> owner(
      devices, library->free_device_list);
  if (!devices || count == 0) why_none = "this machine has no RDMA device";
  const auto addresses = list_interface_addresses();
  for (int i = 0; devices && i < count; ++i) {
    const std::string name = library->get_device_name(devices[i]);
    const owned_context context(library->open_device(devices[i]));
    ibv_device_attr attributes{};
    if (!context || library->query_device(context.get(), &attributes) != 0) {
      rdma_port port;
      port.device = name;
      port.problem = fmt::format("it cannot be opened: {}", std::strerror(errno));
      result.push_back(std::move(port));
      continue;
    }
    const auto here = place_of_device(fmt::format("class/infiniband/{}/device", name));
    for (int number = 1; number <= attributes.phys_port_cnt; ++number) {
      auto port = read_port(context.get(), attributes, number);
      port.device = name;
      port.distance = distance_between(here, near);
      auto choice = choose_gid(port.gids, port.link, wanted_gid, addresses);
      port.chosen_gid = choice.index;
      port.why_gid = std::move(choice.why);
      result.push_back(std::move(port));
    }
  }
  return result;
}

}  // namespace heddle::verbs
