// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "symmetric_heap/handle_choice.hpp"

#include <algorithm>
#include <cstring>

#include "bootstrap/byte_stream.hpp"
#include "device/cuda/physical_memory.hpp"
#include "support/log.hpp"
#include "support/throw_error.hpp"

namespace heddle {
namespace {

/// Memory made to be passed as a fabric handle, or why there is none.
struct sample {
  gpu::physical_memory memory;
  CUmemFabricHandle handle{};
  std::string why_not;

  explicit sample(const gpu::gpu& device) {
    const auto& driver = device.functions();
    if (!device.attribute(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED)) {
      why_not = fmt::format("device cuda:{} ({}) has none", device.ordinal(), device.name());
      return;
    }
    const auto kind = device.memory_kind(CU_MEM_HANDLE_TYPE_FABRIC);
    CUmemGenericAllocationHandle made = 0;
    CUresult result =
        driver.mem_create(&made, device.granularity(CU_MEM_HANDLE_TYPE_FABRIC), &kind, 0);
    if (failed(driver, result, "the driver makes no memory for them")) return;
    memory = gpu::physical_memory(driver, made);
    result = driver.mem_export_to_shareable_handle(&handle, made, CU_MEM_HANDLE_TYPE_FABRIC, 0);
    failed(driver, result, "the driver makes none");
  }

  /// Whether a peer's can be taken here.
  void take(const gpu::gpu& device, CUmemFabricHandle theirs, std::size_t pe) {
    const auto& driver = device.functions();
    CUmemGenericAllocationHandle taken = 0;
    const CUresult result =
        driver.mem_import_from_shareable_handle(&taken, &theirs, CU_MEM_HANDLE_TYPE_FABRIC);
    if (failed(driver, result, fmt::format("the driver does not take that of PE {}", pe))) return;
    gpu::physical_memory(driver, taken);
  }

 private:
  bool failed(const gpu::driver& driver, CUresult result, std::string_view what) {
    if (result == CUDA_SUCCESS) return false;
    why_not = fmt::format(
        "{}: {}{}", what, gpu::describe(driver, result),
        result == CUDA_ERROR_NOT_PERMITTED
            ? " (the process needs an IMEX channel, /dev/nvidia-caps-imex-channels/channel*, the "
              "same as its peers)"
            : "");
    return true;
  }
};

/// The first PE's reason, of those that the PEs have given.
std::string first_reason(const std::vector<std::string>& reasons) {
  const auto first =
      std::find_if(reasons.begin(), reasons.end(), [](const auto& each) { return !each.empty(); });
  return first == reasons.end() ? "" : fmt::format("PE {}: {}", first - reasons.begin(), *first);
}

bool spans_hosts(const bootstrap& bootstrap) {
  for (int pe = 1; pe < bootstrap.size(); ++pe)
    if (bootstrap.host_of(pe) != bootstrap.host_of(0)) return true;
  return false;
}

}  // namespace

handle_choice handle_choice::make(bootstrap& bootstrap, const gpu::gpu& device,
                                  const std::vector<rank_process>& ranks,
                                  const handle_options& options, deadline until) {
  handle_choice choice;
  const auto size = ranks.size();
  const auto me = static_cast<std::size_t>(bootstrap.rank());
  choice.domains.resize(size);
  if (!options.fabric) {
    choice.why_not_fabric = "HEDDLE_FABRIC_HANDLES is off";
    return choice;
  }
  if (std::all_of(ranks.begin(), ranks.end(), [](const auto& each) { return each.same_process; })) {
    choice.why_not_fabric = "all PEs are threads of one process";
    return choice;
  }
  sample mine(device);
  const bool over_hosts = options.across_hosts && spans_hosts(bootstrap);
  if (over_hosts && mine.why_not.empty())
    choice.domains[me] = gpu::find_nvlink_domain(device.uuid(), choice.why_no_domain);

  byte_writer out;
  out.text(mine.why_not).raw(std::as_bytes(std::span(mine.handle.data)));
  if (choice.domains[me])
    out.raw(std::as_bytes(std::span(choice.domains[me]->cluster)))
        .number(std::uint32_t{choice.domains[me]->clique});
  std::vector<std::string> reasons;
  std::vector<CUmemFabricHandle> handles(size);
  const auto all = bootstrap.all_gather(out.bytes(), until);
  for (std::size_t pe = 0; pe < size; ++pe) {
    byte_reader in(all[pe]);
    reasons.push_back(in.text());
    const auto handle = in.raw(sizeof handles[pe].data);
    std::memcpy(handles[pe].data, handle.data(), handle.size());
    if (in.left().empty()) continue;
    auto& domain = choice.domains[pe].emplace();
    const auto cluster = in.raw(domain.cluster.size());
    std::memcpy(domain.cluster.data(), cluster.data(), cluster.size());
    domain.clique = in.number<std::uint32_t>();
  }
  choice.why_not_fabric = first_reason(reasons);
  if (!choice.why_not_fabric.empty()) return choice;

  choice.across_hosts = over_hosts;
  for (std::size_t pe = 0; pe < size && mine.why_not.empty(); ++pe)
    if (!ranks[pe].same_process && (ranks[pe].same_host || choice.in_one_domain(me, pe)))
      mine.take(device, handles[pe], pe);
  const auto taken = bootstrap.all_gather(std::as_bytes(std::span(mine.why_not)), until);
  for (std::size_t pe = 0; pe < size; ++pe)
    reasons[pe].assign(reinterpret_cast<const char*>(taken[pe].data()), taken[pe].size());
  choice.why_not_fabric = first_reason(reasons);
  if (choice.why_not_fabric.empty())
    choice.kind = CU_MEM_HANDLE_TYPE_FABRIC;
  else
    choice.across_hosts = false;
  return choice;
}

}  // namespace heddle
