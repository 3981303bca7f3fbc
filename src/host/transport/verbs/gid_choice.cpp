// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/transport/verbs/gid_choice.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace heddle::verbs {
namespace {

const interface_address* find_address(const gid_entry& entry,
                                      std::span<const interface_address> addresses) {
  const auto found = std::find_if(addresses.begin(), addresses.end(), [&](const auto& address) {
    return address.value == entry.value &&
           (entry.interface.empty() || address.interface == entry.interface);
  });
  return found == addresses.end() ? nullptr : &*found;
}

bool is_zero(const gid& value) {
  return std::all_of(value.begin(), value.end(), [](auto byte) { return byte == 0; });
}

/// Lower is better.
int rank_of(const gid_entry& entry, std::span<const interface_address> addresses) {
  const int version = entry.kind == gid_kind::roce_v2 ? 0 : 4;
  if (is_link_local(entry.value)) return version + 2;
  if (!find_address(entry, addresses)) return version + 3;
  return version + (is_ipv4_mapped(entry.value) ? 0 : 1);
}

std::string describe(const gid_entry& entry, std::span<const interface_address> addresses) {
  if (entry.kind == gid_kind::infiniband)
    return fmt::format("InfiniBand, {}", text_of(entry.value));
  const auto where = entry.interface.empty() ? "" : " of " + entry.interface;
  const char* what = is_ipv4_mapped(entry.value)  ? "IPv4 "
                     : is_link_local(entry.value) ? "link-local "
                                                  : "IPv6 ";
  const bool is_strange = !is_link_local(entry.value) && !find_address(entry, addresses);
  return fmt::format("{}, {}{}{}{}", text_of(entry.kind), what, text_of(entry.value), where,
                     is_strange ? ", which no interface has now" : "");
}

}  // namespace

bool is_ipv4_mapped(const gid& value) {
  return std::all_of(value.begin(), value.begin() + 10, [](auto byte) { return byte == 0; }) &&
         value[10] == 0xff && value[11] == 0xff;
}

bool is_link_local(const gid& value) { return value[0] == 0xfe && (value[1] & 0xc0) == 0x80; }

gid_choice choose_gid(std::span<const gid_entry> table, link_layer link, int wanted,
                      std::span<const interface_address> addresses) {
  if (wanted >= 0) {
    for (const auto& entry : table)
      if (entry.index == wanted && !is_zero(entry.value))
        return {wanted, "HEDDLE_IB_GID_INDEX: " + describe(entry, addresses)};
    return {-1, fmt::format("HEDDLE_IB_GID_INDEX={}, which is empty in this port's table", wanted)};
  }
  const gid_entry* best = nullptr;
  for (const auto& entry : table) {
    if (is_zero(entry.value)) continue;
    if ((entry.kind == gid_kind::infiniband) != (link == link_layer::infiniband)) continue;
    if (!best ||
        (link == link_layer::ethernet && rank_of(entry, addresses) < rank_of(*best, addresses)))
      best = &entry;
  }
  if (!best)
    return {-1, link == link_layer::ethernet
                    ? "no address: is the interface behind it up, with an address?"
                    : "no address: does a subnet manager run?"};
  return {best->index, describe(*best, addresses)};
}

std::uint64_t network_of(const gid& value, link_layer link,
                         std::span<const interface_address> addresses) {
  int bits = 64;
  int first = 0;
  if (link == link_layer::ethernet) {
    const auto found = std::find_if(addresses.begin(), addresses.end(),
                                    [&](const auto& address) { return address.value == value; });
    if (found == addresses.end()) return 0;
    // An IPv4 network is in the last 4 of 16 bytes, an IPv6 network in the first 8.
    first = is_ipv4_mapped(value) ? 8 : 0;
    bits = std::clamp(found->prefix_bits - 8 * first, 0, 64);
  }
  std::uint64_t network = 0;
  for (int i = 0; i < 8; ++i) network = network << 8 | value[static_cast<std::size_t>(first + i)];
  return bits == 0 ? 0 : network >> (64 - bits) << (64 - bits);
}

}  // namespace heddle::verbs
