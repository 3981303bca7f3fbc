// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/network_interface.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <numeric>
#include <span>

#include "support/take_until.hpp"
#include "support/throw_error.hpp"

namespace heddle {
namespace {

std::vector<std::string_view> split(std::string_view list) {
  std::vector<std::string_view> parts;
  while (!list.empty())
    if (const auto part = take_until(list, ','); !part.empty()) parts.push_back(part);
  return parts;
}

bool is_link_local(const sockaddr* address) {
  if (address->sa_family != AF_INET6) return false;
  return IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

const network_interface* choose_default(const std::vector<network_interface>& all) {
  auto is_bridge = [](auto& one) { return one.name.starts_with("docker"); };
  for (auto& one : all)
    if (!one.is_loopback && !is_bridge(one)) return &one;
  for (auto& one : all)
    if (!one.is_loopback) return &one;
  return all.empty() ? nullptr : &all.front();
}

}  // namespace

int prefix_bits_of(const sockaddr* mask) {
  if (!mask) return -1;
  const auto count = [](const auto& address) {
    const auto bytes = std::as_bytes(std::span(&address, 1));
    return std::accumulate(bytes.begin(), bytes.end(), 0, [](int bits, std::byte each) {
      return bits + std::popcount(std::to_integer<unsigned>(each));
    });
  };
  return mask->sa_family == AF_INET ? count(reinterpret_cast<const sockaddr_in*>(mask)->sin_addr)
                                    : count(reinterpret_cast<const sockaddr_in6*>(mask)->sin6_addr);
}

std::vector<network_interface> list_interfaces() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) throw_system_error(errno, "asked for this machine's interfaces");
  std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  std::vector<network_interface> found;
  for (auto* entry = list; entry; entry = entry->ifa_next) {
    if (!entry->ifa_addr || !(entry->ifa_flags & IFF_UP) || is_link_local(entry->ifa_addr))
      continue;
    const int family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    auto same = std::find_if(found.begin(), found.end(),
                             [&](auto& one) { return one.name == entry->ifa_name; });
    if (same == found.end()) {
      found.push_back({entry->ifa_name, (entry->ifa_flags & IFF_LOOPBACK) != 0, {}, {}});
      same = std::prev(found.end());
    }
    same->addresses.emplace_back(entry->ifa_addr, family == AF_INET
                                                      ? socklen_t{sizeof(sockaddr_in)}
                                                      : socklen_t{sizeof(sockaddr_in6)});
    same->prefix_bits.push_back(prefix_bits_of(entry->ifa_netmask));
  }
  return found;
}

const network_interface& choose_interface(const std::vector<network_interface>& all,
                                          std::string_view wanted) {
  auto pattern = wanted;
  const bool excludes = pattern.starts_with('^');
  if (excludes) pattern.remove_prefix(1);
  const bool exactly = pattern.starts_with('=');
  if (exactly) pattern.remove_prefix(1);
  auto names = split(pattern);
  auto listed = [&](const network_interface& one) {
    return std::any_of(names.begin(), names.end(), [&](auto name) {
      return exactly ? one.name == name : one.name.starts_with(name);
    });
  };
  if (names.empty() || excludes) {
    std::vector<network_interface> allowed;
    for (auto& one : all)
      if (names.empty() || !listed(one)) allowed.push_back(one);
    if (auto* chosen = choose_default(allowed))
      return *std::find_if(all.begin(), all.end(),
                           [&](auto& one) { return one.name == chosen->name; });
  } else {
    for (auto& one : all)
      if (listed(one)) return one;
  }
  std::string there;
  for (auto& one : all) there += (there.empty() ? "" : ", ") + one.name;
  throw_error(
      HEDDLE_ERROR_INVALID_ARGUMENT,
      "HEDDLE_SOCKET_IFNAME=\"{}\" matches no interface that is up and has an address; there "
      "are: {}",
      wanted, there.empty() ? "none" : there);
}

std::vector<socket_address> listening_addresses(std::string_view wanted) {
  auto all = list_interfaces();
  auto& chosen = choose_interface(all, wanted);
  std::vector<socket_address> result;
  for (int family : {AF_INET, AF_INET6}) {
    auto first = std::find_if(chosen.addresses.begin(), chosen.addresses.end(),
                              [&](auto& address) { return address.family() == family; });
    if (first != chosen.addresses.end()) result.push_back(*first);
  }
  return result;
}

}  // namespace heddle
