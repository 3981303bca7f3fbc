// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "symmetric_heap/device_peers.hpp"

#include <algorithm>
#include <cstring>

#include "bootstrap/byte_stream.hpp"
#include "support/log.hpp"

namespace heddle {
namespace {

constexpr std::size_t none = ~std::size_t{0};

/// Tells of one PE whether it is mapped, and for whom of this process.
class device_introduction {
 public:
  device_introduction(const gpu::gpu& device, const device_peers& met, std::size_t me)
      : device_(device), met_(met), me_(me) {}

  /// A PE of this process that reaches `pe` without regard to peer access; none.
  [[nodiscard]] std::size_t reached_from(std::size_t pe) const {
    if (met_.ranks[pe].same_host) return me_;
    for (std::size_t here = 0; here < met_.ranks.size(); ++here)
      if (met_.ranks[here].same_process && met_.handles.in_one_domain(here, pe)) return here;
    return none;
  }

  [[nodiscard]] std::string why_apart(std::size_t pe) const {
    const auto& handles = met_.handles;
    if (!met_.ranks[pe].same_host) {
      if (handles.in_one_domain(me_, pe)) return "";
      if (!handles.across_hosts)
        return handles.kind == CU_MEM_HANDLE_TYPE_FABRIC
                   ? "it is on another host"
                   : fmt::format("it is on another host, and there are no fabric handles: {}",
                                 handles.why_not_fabric);
      if (!handles.domains[me_])
        return fmt::format("it is on another host, and device cuda:{} is in no NVLink domain: {}",
                           device_.ordinal(), handles.why_no_domain);
      return handles.domains[pe] ? "it is on another host, in another NVLink domain"
                                 : "it is on another host, in no NVLink domain";
    }
    return can_access(device_.ordinal(), pe) ? ""
                                             : fmt::format(
                                                   "device cuda:{} has no peer access to "
                                                   "cuda:{}",
                                                   device_.ordinal(), ordinal_of(pe));
  }

  /// The devices of this process that reach it.
  [[nodiscard]] std::vector<int> access(std::size_t pe) const {
    std::vector<int> devices;
    for (std::size_t here = 0; here < met_.ranks.size(); ++here) {
      if (!met_.ranks[here].same_process) continue;
      const int ordinal = ordinal_of(here);
      const bool reaches =
          met_.ranks[pe].same_host ? can_access(ordinal, pe) : met_.handles.in_one_domain(here, pe);
      if (reaches && std::find(devices.begin(), devices.end(), ordinal) == devices.end())
        devices.push_back(ordinal);
    }
    return devices;
  }

 private:
  [[nodiscard]] int ordinal_of(std::size_t pe) const { return met_.peers[pe].ordinal; }
  /// Memory of a device that CUDA_VISIBLE_DEVICES hides can be mapped too.
  [[nodiscard]] bool can_access(int from, std::size_t pe) const {
    return ordinal_of(pe) < 0 || gpu::can_access(device_.functions(), from, ordinal_of(pe));
  }

  const gpu::gpu& device_;
  const device_peers& met_;
  const std::size_t me_;
};

}  // namespace

device_peers device_peers::meet(bootstrap& bootstrap, const gpu::gpu& device,
                                descriptor_exchange& exchange, const handle_options& options,
                                deadline until) {
  device_peers met;
  met.ranks = exchange.introduce(until);
  met.handles = handle_choice::make(bootstrap, device, met.ranks, options, until);
  if (met.handles.kind == CU_MEM_HANDLE_TYPE_FABRIC)
    log::info(log::subsystem::heap, "memory goes to other processes as fabric handles");
  else
    log::info(log::subsystem::heap,
              "memory goes to other processes as file descriptors; there are no fabric handles: {}",
              met.handles.why_not_fabric);
  byte_writer out;
  out.raw(std::as_bytes(std::span(device.uuid())))
      .number(std::uint64_t{device.granularity(met.handles.kind)})
      .number(std::int32_t{device.ordinal()});
  const auto all = bootstrap.all_gather(out.bytes(), until);
  const auto me = static_cast<std::size_t>(bootstrap.rank());
  const device_introduction introduced(device, met, me);
  for (std::size_t pe = 0; pe < all.size(); ++pe) {
    const auto& rank = met.ranks[pe];
    byte_reader in(all[pe]);
    auto& each = met.peers.emplace_back();
    const auto uuid = in.raw(each.uuid.size());
    std::memcpy(each.uuid.data(), uuid.data(), uuid.size());
    met.unit = std::max(met.unit, static_cast<std::size_t>(in.number<std::uint64_t>()));
    const int ordinal = in.number<std::int32_t>();
    if (rank.same_host) each.ordinal = rank.same_process ? ordinal : device.find(each.uuid);
    // All threads of a process number the slots of their arena alike.
    if (introduced.reached_from(pe) != none) each.slot = met.num_slots++;
    met.threads |= rank.same_process && pe != me;
    met.processes |= !rank.same_process;
  }
  for (std::size_t pe = 0; pe < met.peers.size(); ++pe) {
    auto& each = met.peers[pe];
    each.why_not_mapped = introduced.why_apart(pe);
    each.access = introduced.access(pe);
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
