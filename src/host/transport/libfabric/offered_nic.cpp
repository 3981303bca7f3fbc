// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/transport/libfabric/offered_nic.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <filesystem>
#include <span>

namespace heddle::libfabric {
namespace {

std::span<const unsigned char> bytes_of(const socket_address& address) {
  if (address.family() == AF_INET)
    return {reinterpret_cast<const unsigned char*>(
                &reinterpret_cast<const sockaddr_in*>(address.data())->sin_addr),
            sizeof(in_addr)};
  return {reinterpret_cast<const unsigned char*>(
              &reinterpret_cast<const sockaddr_in6*>(address.data())->sin6_addr),
          sizeof(in6_addr)};
}

bool begin_alike(std::span<const unsigned char> a, std::span<const unsigned char> b, int bits) {
  for (int bit = 0; bit < bits; ++bit) {
    const auto byte = static_cast<std::size_t>(bit / 8);
    if (((a[byte] ^ b[byte]) >> (7 - bit % 8) & 1) != 0) return false;
  }
  return true;
}

/// Of the interface that has the address; -1: none has, or it is not known.
int prefix_bits_of(const socket_address& address, const std::vector<network_interface>& all) {
  for (const auto& one : all)
    for (std::size_t i = 0; i < one.prefix_bits.size(); ++i)
      if (numbers_of(one.addresses[i]) == numbers_of(address)) return one.prefix_bits[i];
  return -1;
}

}  // namespace

std::string_view view(const char* text) { return text ? text : ""; }

std::string_view device_of(const fi_info& info) {
  const auto* told = info.nic ? info.nic->device_attr : nullptr;
  return told && told->name ? told->name : view(info.domain_attr->name);
}

std::optional<socket_address> address_of(const fi_info& info) {
  if (info.addr_format != FI_SOCKADDR_IN && info.addr_format != FI_SOCKADDR_IN6) return {};
  if (!info.src_addr || info.src_addrlen > sizeof(sockaddr_storage)) return {};
  return socket_address(static_cast<const sockaddr*>(info.src_addr),
                        static_cast<socklen_t>(info.src_addrlen));
}

std::string numbers_of(const socket_address& address) {
  const std::string text = address.text();
  return text.substr(0, text.rfind(':'));
}

const network_interface* interface_of(const fi_info& info,
                                      const std::vector<network_interface>& all) {
  const auto address = address_of(info);
  for (const auto& one : all) {
    if (one.name == view(info.domain_attr->name)) return &one;
    for (const auto& each : one.addresses)
      if (address && numbers_of(each) == numbers_of(*address)) return &one;
  }
  return nullptr;
}

std::string card_folder(const fi_info& info, const std::string& interface,
                        const std::string& sysfs) {
  const auto* bus = info.nic ? info.nic->bus_attr : nullptr;
  if (bus && bus->bus_type == FI_BUS_PCI) {
    const auto& at = bus->attr.pci;
    return fmt::format("bus/pci/devices/{:04x}:{:02x}:{:02x}.{:x}", at.domain_id, at.bus_id,
                       at.device_id, at.function_id);
  }
  const auto rdma = fmt::format("class/infiniband/{}/device", device_of(info));
  std::error_code none;
  return std::filesystem::exists(sysfs + "/" + rdma, none)
             ? rdma
             : fmt::format("class/net/{}/device", interface);
}

double gigabits_of(const fi_info& info) {
  const auto* link = info.nic ? info.nic->link_attr : nullptr;
  return link ? static_cast<double>(link->speed) * 1e-9 : 0;
}

bool share_network(const fi_info& a, const fi_info& b, const std::vector<network_interface>& all) {
  if (&a == &b) return true;
  if (a.addr_format != b.addr_format || view(a.fabric_attr->name) != view(b.fabric_attr->name))
    return false;
  const auto mine = address_of(a);
  const auto theirs = address_of(b);
  if (!mine || !theirs) return !mine && !theirs;
  const int bits = prefix_bits_of(*mine, all);
  return bits >= 0 && bits == prefix_bits_of(*theirs, all) &&
         begin_alike(bytes_of(*mine), bytes_of(*theirs), bits);
}

}  // namespace heddle::libfabric
