// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "host/network_choice.hpp"

#include <algorithm>
#include <heddle/error.hpp>

#include "bootstrap/byte_stream.hpp"
#include "bootstrap/imitated_hosts.hpp"
#include "bootstrap/keyed_hash.hpp"
#include "host/transport/connect_time.hpp"
#include "host/transport/libfabric/libfabric_transport.hpp"
#include "host/transport/tcp/tcp_transport.hpp"
#include "support/log.hpp"
#include "support/throw_error.hpp"

namespace heddle {

namespace {

/// What one PE has opened.
struct proposal {
  std::unique_ptr<transport> network;
  std::string kind;  ///< "verbs", "libfabric net"; "" for none
  std::string reason;
};

/// What all PEs are told of one's proposal.
struct told_proposal {
  std::string kind;
  std::string reason;
  std::string wish;  ///< the variable by which the PE asked for a network
};

/// A job that asked for a network is not to go on without.
std::string wish_of(const environment& settings) {
  if (settings.transport == "none") return "";
  if (settings.transport != "auto") return "HEDDLE_TRANSPORT=" + settings.transport;
  if (!settings.fabric_provider.empty())
    return "HEDDLE_FABRIC_PROVIDER=" + settings.fabric_provider;
  return settings.p2p_disable ? "HEDDLE_P2P_DISABLE=1" : "";
}

/// Why this PE does not try that kind; empty if it does.
std::string not_wanted(const std::string& kind, const environment& settings) {
  if (settings.transport != "auto" && settings.transport != kind)
    return "HEDDLE_TRANSPORT=" + settings.transport;
  if (kind == "tcp" && !settings.fabric_provider.empty())
    return "HEDDLE_FABRIC_PROVIDER=" + settings.fabric_provider;
  return kind == "verbs" && settings.ib_disable ? "HEDDLE_IB_DISABLE=1" : "";
}

bool all_on_one_host(const bootstrap& bootstrap) {
  for (int pe = 0; pe < bootstrap.size(); ++pe)
    if (real_host_of(bootstrap.host_of(pe)) != real_host_of(bootstrap.host_of(0))) return false;
  return true;
}

/// What the job's PEs know of each other in one network.
std::array<std::byte, 16> token_of(const bootstrap& bootstrap, const char* purpose) {
  std::array<std::byte, 16> token{};
  const auto secret = derive_secret(bootstrap.job_secret(), purpose);
  std::copy_n(secret.begin(), token.size(), token.begin());
  return token;
}

verbs_options verbs_settings(const environment& settings, const bootstrap& bootstrap,
                             const pe_device& device) {
  auto options = verbs_wishes(settings);
  options.local_rank = local_rank(bootstrap);
  options.near = device.pci_address();
  options.gpu = device.memory_for_cards();
  options.job_token = token_of(bootstrap, "verbs");
  return options;
}

libfabric_options libfabric_settings(const environment& settings, const bootstrap& bootstrap,
                                     const pe_device& device) {
  libfabric_options options;
  options.local_rank = local_rank(bootstrap);
  options.near = device.pci_address();
  options.gpu = device.memory_for_cards();
  options.provider = settings.fabric_provider;
  options.interfaces = settings.socket_ifname;
  options.one_host = all_on_one_host(bootstrap);
  options.cards_only = wants_cards_only(settings);
  options.ib_disable = settings.ib_disable;
  options.ib_hca = settings.ib_hca;
  options.timeout = std::chrono::duration<double>(settings.timeout);
  return options;
}

tcp_options tcp_settings(const environment& settings, const bootstrap& bootstrap) {
  tcp_options options;
  options.congestion = settings.tcp_congestion;
  options.lanes = settings.contexts;
  options.interfaces = settings.socket_ifname;
  options.one_host = all_on_one_host(bootstrap);
  options.timeout = std::chrono::duration<double>(settings.timeout);
  options.job_token = token_of(bootstrap, "tcp");
  return options;
}

proposal open(const std::string& kind, const environment& settings, const bootstrap& bootstrap,
              const pe_device& device) {
  proposal made;
  made.reason = not_wanted(kind, settings);
  if (!made.reason.empty()) return made;
  try {
    if (kind == "verbs")
      made.network = make_verbs_transport(verbs_settings(settings, bootstrap, device));
    if (kind == "libfabric")
      made.network = make_libfabric_transport(libfabric_settings(settings, bootstrap, device));
    if (kind == "tcp") made.network = make_tcp_transport(tcp_settings(settings, bootstrap));
    if (made.network) {
      // The name ends in the interface, which may differ.
      const auto& name = made.network->about().name;
      made.kind = name.substr(0, name.find(" ("));
    }
  } catch (const error& failure) {
    made.reason = failure.what();
  }
  return made;
}

std::vector<told_proposal> tell_all(const proposal& mine, const environment& settings,
                                    bootstrap& bootstrap, deadline until) {
  byte_writer told;
  told.text(mine.kind).text(mine.reason).text(wish_of(settings));
  std::vector<told_proposal> all;
  for (const auto& bytes : bootstrap.all_gather(told.bytes(), until)) {
    byte_reader reader(bytes);
    auto& each = all.emplace_back();
    each.kind = reader.text();
    each.reason = reader.text();
    each.wish = reader.text();
  }
  return all;
}

/// Why not all PEs have the same of a kind: the same text on each.
std::string why_not_common(const std::string& kind, const std::vector<told_proposal>& all) {
  const auto number = [&](auto found) { return found - all.begin(); };
  const auto none =
      std::find_if(all.begin(), all.end(), [](auto& each) { return each.kind.empty(); });
  if (none != all.end())
    return fmt::format("of {}, PE {} has none: {}", kind, number(none), none->reason);
  const auto other =
      std::find_if(all.begin(), all.end(), [&](auto& each) { return each.kind != all[0].kind; });
  return fmt::format(
      "of {}, PE {} has {} and PE 0 {}: choose one that all have with HEDDLE_TRANSPORT or "
      "HEDDLE_FABRIC_PROVIDER",
      kind, number(other), other->kind, all[0].kind);
}

}  // namespace

bool wants_cards_only(const environment& settings) {
  return settings.transport != "libfabric" && settings.fabric_provider.empty();
}

verbs_options verbs_wishes(const environment& settings) {
  verbs_options options;
  options.lanes = settings.contexts;
  options.hca = settings.ib_hca;
  options.gid_index = settings.ib_gid_index;
  options.timeout = settings.ib_timeout;
  options.retry_count = settings.ib_retry_count;
  options.traffic_class = settings.ib_traffic_class;
  options.service_level = settings.ib_service_level;
  options.connect_timeout = connect_time(std::chrono::duration<double>(settings.timeout));
  return options;
}

network_choice choose_network(const environment& settings, bootstrap& bootstrap,
                              const pe_device& device, deadline until) {
  std::string reason;
  std::string wish;
  // Every PE takes part in each round, whatever its own settings.
  for (const std::string kind : {"verbs", "libfabric", "tcp"}) {
    auto mine = open(kind, settings, bootstrap, device);
    const auto all = tell_all(mine, settings, bootstrap, until);
    const bool common = std::all_of(all.begin(), all.end(), [&](const auto& each) {
      return !each.kind.empty() && each.kind == all[0].kind;
    });
    if (common) return {std::move(mine.network), reason, ""};
    reason += (reason.empty() ? "" : "; ") + why_not_common(kind, all);
    const auto asks =
        std::find_if(all.begin(), all.end(), [](const auto& each) { return !each.wish.empty(); });
    if (asks != all.end()) wish = fmt::format("PE {} has {}", asks - all.begin(), asks->wish);
  }
  return {nullptr, reason, wish};
}

}  // namespace heddle
