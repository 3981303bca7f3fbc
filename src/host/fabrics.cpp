// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/fabrics.hpp"

#if defined(HEDDLE_HAVE_LIBFABRIC)

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

#include "host/transport/libfabric/library.hpp"
#include "host/transport/libfabric/provider_choice.hpp"

namespace heddle {
namespace {

std::string order_of(const fi_info& info) {
  const auto by = libfabric::ordering_of(info);
  if (!by) return "no order";
  switch (*by) {
    case libfabric::ordering::promised:
      return "messages after writes";
    case libfabric::ordering::counted:
      return "counted writes";
    case libfabric::ordering::fenced:
      return "messages fenced after writes";
    case libfabric::ordering::awaited:
      return "messages after completed writes";
  }
  return "no order";
}

std::string memory_mode_of(const fi_info& info) {
  constexpr std::array<std::pair<int, const char*>, 5> names = {{{FI_MR_LOCAL, "local"},
                                                                 {FI_MR_VIRT_ADDR, "addresses"},
                                                                 {FI_MR_ALLOCATED, "pinned"},
                                                                 {FI_MR_PROV_KEY, "own keys"},
                                                                 {FI_MR_ENDPOINT, "endpoint"}}};
  std::vector<std::string_view> asked;
  for (const auto& [bit, name] : names)
    if ((info.domain_attr->mr_mode & bit) != 0) asked.emplace_back(name);
  return asked.empty() ? "any" : fmt::format("{}", fmt::join(asked, " "));
}

std::string promises_of(const fi_info& info) {
  return fmt::format("{}, {}, {} progress, memory: {}", order_of(info),
                     libfabric::has_sound_atomics(info) ? "atomics" : "no atomics",
                     info.domain_attr->data_progress == FI_PROGRESS_AUTO ? "automatic" : "manual",
                     memory_mode_of(info));
}

}  // namespace

std::vector<fabric_description> find_fabrics(const environment& wanted, bool cards_only) {
  std::vector<fabric_description> result;
  const auto* functions = libfabric::load_library();
  if (!functions) return result;
  const libfabric::offers offers(*functions);
  const libfabric::provider_wish wish{.provider = wanted.fabric_provider,
                                      .interfaces = wanted.socket_ifname,
                                      .one_host = false,
                                      .cards_only = cards_only,
                                      .ib_disable = wanted.ib_disable,
                                      .ib_hca = wanted.ib_hca,
                                      .there = list_interfaces(),
                                      .near = place_of_thread()};
  for (const auto& one : libfabric::rank_providers(offers.all(), wish))
    result.push_back({one.provider, one.interface, one.address,
                      one.fits ? promises_of(*one.info) : std::string(), one.reason});
  return result;
}

}  // namespace heddle

#else

std::vector<heddle::fabric_description> heddle::find_fabrics(const environment& /*wanted*/,
                                                             bool /*cards_only*/) {
  return {};
}

#endif
