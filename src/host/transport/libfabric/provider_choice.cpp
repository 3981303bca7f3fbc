// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/transport/libfabric/provider_choice.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <heddle/error.hpp>
#include <string_view>

#include "host/transport/libfabric/offered_nic.hpp"
#include "host/transport/nic_choice.hpp"
#include "host/transport/verbs/port_choice.hpp"

namespace heddle::libfabric {
namespace {

/// From libfabric 1.18 on the provider tcp has what net had to be for. shm is for tests: on one
/// host mapped peers are quicker.
constexpr std::array<std::string_view, 9> preference = {"cxi",     "efa",         "verbs;ofi_rxm",
                                                        "net",     "tcp",         "tcp;ofi_rxm",
                                                        "sockets", "udp;ofi_rxd", shm_provider};
constexpr const char* first_of_all = "chosen: the first in heddle's order of preference";

std::size_t rank_of(std::string_view provider) {
  return static_cast<std::size_t>(std::find(preference.begin(), preference.end(), provider) -
                                  preference.begin());
}

bool goes_over_ip(std::string_view provider) {
  constexpr std::array<std::string_view, 5> over_ip = {"net", "tcp", "tcp;ofi_rxm", "sockets",
                                                       "udp;ofi_rxd"};
  return std::find(over_ip.begin(), over_ip.end(), provider) != over_ip.end();
}

bool goes_over_verbs(std::string_view provider) { return is_named(provider, "verbs"); }

bool is_link_local(const fi_info& info) {
  if (info.addr_format != FI_SOCKADDR_IN6 || !info.src_addr) return false;
  return IN6_IS_ADDR_LINKLOCAL(&static_cast<const sockaddr_in6*>(info.src_addr)->sin6_addr);
}

class judge {
 public:
  explicit judge(const provider_wish& wish) : wish_(wish) {
    try {
      wanted_interface_ = choose_interface(wish.there, wish.interfaces).name;
    } catch (const error& no_such) {
      why_no_interface_ = no_such.what();
    }
  }

  /// Why it does not do; empty if it does.
  [[nodiscard]] std::string objection(const fi_info& info) const {
    const auto provider = view(info.fabric_attr->prov_name);
    if (!wish_.provider.empty() && !is_named(provider, wish_.provider))
      return fmt::format("HEDDLE_FABRIC_PROVIDER asks for \"{}\"", wish_.provider);
    if (wish_.provider.empty() && rank_of(provider) == preference.size())
      return "not tried with heddle: taken if HEDDLE_FABRIC_PROVIDER names it";
    if (provider == shm_provider && wish_.provider.empty())
      return "stays on one host: taken if HEDDLE_FABRIC_PROVIDER names it";
    if (provider == shm_provider && !wish_.one_host)
      return "stays on one host, and the PEs are on several";
    if (goes_over_verbs(provider))
      if (auto left_out = hca_objection(info); !left_out.empty()) return left_out;
    if ((info.caps & FI_MSG) == 0) return "has no messages (FI_MSG)";
    if ((info.caps & FI_RMA) == 0) return "neither writes nor reads remote memory (FI_RMA)";
    if (!ordering_of(info)) return "its messages may overtake each other (FI_ORDER_SAS)";
    if (info.ep_attr->msg_prefix_size != 0) return "wants a prefix in messages (FI_MSG_PREFIX)";
    if (provider == "verbs;ofi_rxm" && !wish_.shares_receives)
      return "crashes when two PEs connect to each other at the same moment (seen in 1.17) unless "
             "FI_OFI_RXM_USE_SRX=1; HEDDLE_TRANSPORT=verbs does without it";
    if (goes_over_ip(provider) && wish_.cards_only)
      return "goes over IP, where heddle's own tcp is quicker: taken if HEDDLE_TRANSPORT or "
             "HEDDLE_FABRIC_PROVIDER asks for it";
    return goes_over_ip(provider) ? interface_objection(info) : std::string();
  }

 private:
  [[nodiscard]] std::string hca_objection(const fi_info& info) const {
    if (wish_.ib_disable) return "HEDDLE_IB_DISABLE=1 leaves it out";
    // The device's port is that of its interface, which the kernel counts from 0.
    int port = 0;
    if (const auto* one = interface_of(info, wish_.there))
      std::ifstream(wish_.sysfs + "/class/net/" + one->name + "/dev_port") >> port;
    return verbs::admits(wish_.ib_hca, device_of(info), port + 1)
               ? std::string()
               : fmt::format("HEDDLE_IB_HCA=\"{}\" leaves it out", wish_.ib_hca);
  }

  [[nodiscard]] std::string interface_objection(const fi_info& info) const {
    if (wanted_interface_.empty()) return why_no_interface_;
    if (is_link_local(info)) return "its address holds on one link only";
    const auto* one = interface_of(info, wish_.there);
    if (!one) return "its interface is not up";
    if (one->is_loopback && !wish_.one_host && wish_.interfaces.empty())
      return "loopback, and the PEs are on several hosts";
    if (one->name != wanted_interface_)
      return wish_.interfaces.empty()
                 ? fmt::format("{} is taken unless HEDDLE_SOCKET_IFNAME names another",
                               wanted_interface_)
                 : fmt::format("HEDDLE_SOCKET_IFNAME=\"{}\" chooses {}", wish_.interfaces,
                               wanted_interface_);
    return {};
  }

  const provider_wish& wish_;
  std::string wanted_interface_;
  std::string why_no_interface_;
};

provider_candidate candidate_of(const fi_info& info, const provider_wish& wish) {
  const auto* one = interface_of(info, wish.there);
  const auto address = address_of(info);
  return {&info,
          std::string(view(info.fabric_attr->prov_name)),
          one ? one->name : std::string(view(info.domain_attr->name)),
          address ? numbers_of(*address) : std::string(),
          false,
          {}};
}

bool same_place(const provider_candidate& a, const provider_candidate& b) {
  return a.provider == b.provider && a.interface == b.interface && a.address == b.address &&
         view(a.info->domain_attr->name) == view(b.info->domain_attr->name);
}

/// The NICs that may stand in for that of the first candidate: offers of the same provider and kind
/// of address which its peers reach too, one of each device.
std::vector<std::size_t> equals_of_first(const std::vector<provider_candidate>& all,
                                         const provider_wish& wish) {
  const auto& first = all.front();
  std::vector<std::size_t> equals;
  for (std::size_t i = 0; i < all.size() && all[i].fits; ++i) {
    const bool is_known = std::any_of(equals.begin(), equals.end(), [&](std::size_t other) {
      return device_of(*all[other].info) == device_of(*all[i].info);
    });
    if (!is_known && all[i].provider == first.provider &&
        share_network(*all[i].info, *first.info, wish.there))
      equals.push_back(i);
  }
  return equals;
}

/// Puts the NIC in front that this PE is to use. What goes over IP alone keeps the one interface
/// that the judge lets pass.
void take_nearest(std::vector<provider_candidate>& all, const provider_wish& wish) {
  const auto& first = all.front();
  if (goes_over_ip(first.provider) || first.provider == shm_provider) return;
  const auto equals = equals_of_first(all, wish);
  if (equals.size() < 2) return;
  std::vector<nic_offer> offers;
  for (const auto i : equals) {
    const auto& info = *all[i].info;
    const auto place = place_of_device(card_folder(info, all[i].interface, wish.sysfs), wish.sysfs);
    offers.push_back(
        {std::string(device_of(info)), 1, gigabits_of(info), distance_between(place, wish.near)});
  }
  const auto choice = choose_nics(offers, wish.local_rank, offers.size());
  for (std::size_t i = 0; i < equals.size(); ++i)
    all[equals[i]].reason = "fits, but " + choice.reasons[i];
  std::vector<provider_candidate> sorted;
  for (const auto i : choice.chosen) {
    sorted.push_back(all[equals[i]]);
    sorted.back().reason = "fits, NIC " + choice.reasons[i];
  }
  sorted.front().reason = fmt::format("{}, NIC {}", first_of_all, choice.reasons[choice.chosen[0]]);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (std::none_of(choice.chosen.begin(), choice.chosen.end(),
                     [&](std::size_t taken) { return equals[taken] == i; }))
      sorted.push_back(std::move(all[i]));
  all = std::move(sorted);
}

}  // namespace

bool provider_wish::asks_to_share_receives() {
  const char* said = std::getenv("FI_OFI_RXM_USE_SRX");  // NOLINT(concurrency-mt-unsafe)
  constexpr std::array<const char*, 4> yes = {"1", "yes", "true", "on"};
  return said && std::any_of(yes.begin(), yes.end(),
                             [&](const char* each) { return ::strcasecmp(said, each) == 0; });
}

bool is_named(std::string_view provider, std::string_view wanted) {
  return provider == wanted ||
         (provider.starts_with(wanted) && provider[wanted.size()] == ';' && !wanted.empty());
}

std::optional<ordering> ordering_of(const fi_info& info) {
  constexpr std::size_t immediate_bytes = 4;
  // The size speaks of messages, too: cxi has eight bytes for these and takes none with a write.
  const bool writes_have_none = is_named(view(info.fabric_attr->prov_name), "cxi");
  const auto granted = info.tx_attr->msg_order & info.rx_attr->msg_order;
  if ((granted & FI_ORDER_SAS) == 0) return {};
  if ((granted & FI_ORDER_SAW) != 0) return ordering::promised;
  if (info.domain_attr->cq_data_size >= immediate_bytes && !writes_have_none)
    return ordering::counted;
  return (info.caps & FI_FENCE) != 0 ? ordering::fenced : ordering::awaited;
}

bool has_sound_atomics(const fi_info& info) {
  // The target of a fetching one crashes in fi_cq_read (seen in 1.17, reported for 2.x:
  // github.com/ofiwg/libfabric/issues/11814).
  return (info.caps & FI_ATOMIC) != 0 && !view(info.fabric_attr->prov_name).ends_with(";ofi_rxd");
}

std::size_t most_to_one_peer(const fi_info& info) {
  const auto provider = view(info.fabric_attr->prov_name);
  // It sends up to 128 datagrams unasked, which a socket's receive buffer of the usual 208 KiB does
  // not hold, and waits long for each that is lost: thousands of small transfers took 20 s, not
  // 0.5. To a peer that does not answer it sends again for minutes.
  if (provider.ends_with(";ofi_rxd")) return 32;
  // It leaves the start of a message's header in the socket until all of it is there. Over
  // loopback, whose packets of 64 KiB count whole until they are read to the end, that may be what
  // closes TCP's window for ever (1.17). Messages of 4 KiB, so many, do not fill the window.
  if (provider == "sockets") return 8;
  return SIZE_MAX;
}

std::vector<provider_candidate> rank_providers(std::span<const fi_info* const> offered,
                                               const provider_wish& wish) {
  const judge judge(wish);
  std::vector<provider_candidate> result;
  for (const fi_info* info : offered) {
    auto candidate = candidate_of(*info, wish);
    candidate.reason = judge.objection(*info);
    candidate.fits = candidate.reason.empty();
    auto same = std::find_if(result.begin(), result.end(),
                             [&](auto& one) { return same_place(one, candidate); });
    if (same == result.end())
      result.push_back(std::move(candidate));
    else if (!same->fits && candidate.fits)
      *same = std::move(candidate);
  }
  // Every host has IPv4 alike, which cannot be said of IPv6.
  const auto place = [](const provider_candidate& one) {
    return std::tuple(!one.fits, rank_of(one.provider), one.info->addr_format == FI_SOCKADDR_IN6);
  };
  std::stable_sort(result.begin(), result.end(),
                   [&](auto& a, auto& b) { return place(a) < place(b); });
  if (result.empty() || !result.front().fits) return result;
  for (auto& one : result)
    if (one.fits) one.reason = fmt::format("fits, but comes after {}", result.front().provider);
  result.front().reason = first_of_all;
  take_nearest(result, wish);
  return result;
}

std::string describe(std::span<const provider_candidate> candidates) {
  std::string text;
  for (const auto& one : candidates)
    text += fmt::format("\n  {} on {}{}{}: {}", one.provider, one.interface,
                        one.address.empty() ? "" : " ", one.address, one.reason);
  return text;
}

}  // namespace heddle::libfabric
