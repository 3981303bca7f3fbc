// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "symmetric_heap/device_peers.hpp"

#include <algorithm>
#include <cstring>

#include "bootstrap/byte_stream.hpp"
#include "support/log.hpp"

namespace heddle {
namespace {

std::string why_apart(const gpu::gpu& device, const device_peer& peer) {
  if (peer.slot < 0) return "it is on another host";
  // Memory of a device that CUDA_VISIBLE_DEVICES hides can be mapped too.
  if (peer.ordinal < 0 || gpu::can_access(device.functions(), device.ordinal(), peer.ordinal))
    return "";
  return fmt::format("device cuda:{} has no peer access to cuda:{}", device.ordinal(),
                     peer.ordinal);
}

}  // namespace

device_peers device_peers::meet(bootstrap& bootstrap, const gpu::gpu& device,
                                descriptor_exchange& exchange, deadline until) {
  device_peers met;
  met.ranks = exchange.introduce(until);
  byte_writer out;
  out.raw(std::as_bytes(std::span(device.uuid())))
      .number(std::uint64_t{device.granularity()})
      .number(std::int32_t{device.ordinal()});
  const auto all = bootstrap.all_gather(out.bytes(), until);
  const auto me = static_cast<std::size_t>(bootstrap.rank());
  for (std::size_t pe = 0; pe < all.size(); ++pe) {
    const auto& rank = met.ranks[pe];
    byte_reader in(all[pe]);
    auto& each = met.peers.emplace_back();
    const auto uuid = in.raw(each.uuid.size());
    std::memcpy(each.uuid.data(), uuid.data(), uuid.size());
    met.unit = std::max(met.unit, static_cast<std::size_t>(in.number<std::uint64_t>()));
    const int ordinal = in.number<std::int32_t>();
    if (rank.same_process && std::find(met.devices_here.begin(), met.devices_here.end(), ordinal) ==
                                 met.devices_here.end())
      met.devices_here.push_back(ordinal);
    if (rank.same_host) {
      each.slot = met.num_slots++;
      each.ordinal = rank.same_process ? ordinal : device.find(each.uuid);
    }
    met.threads |= rank.same_process && pe != me;
    met.processes |= each.slot >= 0 && !rank.same_process;
  }
  for (std::size_t pe = 0; pe < met.peers.size(); ++pe) {
    auto& each = met.peers[pe];
    each.why_not_mapped = why_apart(device, each);
    for (const int here : met.devices_here)
      if (each.ordinal < 0 || gpu::can_access(device.functions(), here, each.ordinal))
        each.access.push_back(here);
    if (!each.why_not_mapped.empty())
      log::info(log::subsystem::heap, "the heap of PE {} is not mapped: {}", pe,
                each.why_not_mapped);
  }
  return met;
}

std::vector<int> device_peers::mapped_slots() const {
  std::vector<int> slots;
  for (const auto& each : peers) slots.push_back(each.why_not_mapped.empty() ? each.slot : -1);
  return slots;
}

}  // namespace heddle
