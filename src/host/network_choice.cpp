// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "host/network_choice.hpp"

#include <algorithm>
#include <heddle/error.hpp>

#include "bootstrap/byte_stream.hpp"
#include "bootstrap/keyed_hash.hpp"
#include "host/transport/libfabric/libfabric_transport.hpp"
#include "host/transport/verbs/verbs_transport.hpp"
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

bool all_on_one_host(const bootstrap& bootstrap) {
  for (int pe = 0; pe < bootstrap.size(); ++pe)
    if (bootstrap.host_of(pe) != bootstrap.host_of(0)) return false;
  return true;
}

verbs_options verbs_settings(const environment& settings, const bootstrap& bootstrap,
                             const std::string& near) {
  verbs_options options;
  options.lanes = settings.contexts;
  for (int pe = 0; pe < bootstrap.rank(); ++pe)
    options.local_rank += bootstrap.host_of(pe) == bootstrap.host_of(bootstrap.rank()) ? 1 : 0;
  options.near = near;
  options.hca = settings.ib_hca;
  options.gid_index = settings.ib_gid_index;
  options.timeout = settings.ib_timeout;
  options.retry_count = settings.ib_retry_count;
  options.traffic_class = settings.ib_traffic_class;
  options.service_level = settings.ib_service_level;
  options.connect_timeout = std::chrono::duration<double>(settings.timeout);
  const auto secret = derive_secret(bootstrap.job_secret(), "verbs");
  std::copy_n(secret.begin(), options.job_token.size(), options.job_token.begin());
  return options;
}

proposal open(const std::string& kind, const environment& settings, const bootstrap& bootstrap,
              const std::string& near) {
  proposal made;
  try {
    if (kind == "verbs")
      made.network = make_verbs_transport(verbs_settings(settings, bootstrap, near));
    if (kind == "libfabric")
      made.network =
          make_libfabric_transport({.provider = settings.fabric_provider,
                                    .interfaces = settings.socket_ifname,
                                    .one_host = all_on_one_host(bootstrap),
                                    .timeout = std::chrono::duration<double>(settings.timeout),
                                    .order = {}});
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

std::vector<std::string> tell_all(const std::string& mine, bootstrap& bootstrap, deadline until) {
  std::vector<std::string> all;
  for (const auto& bytes :
       bootstrap.all_gather(std::as_bytes(std::span(mine.data(), mine.size())), until))
    all.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return all;
}

}  // namespace

network_choice choose_network(const environment& settings, bootstrap& bootstrap,
                              const std::string& near, deadline until) {
  std::vector<std::string> kinds;
  if (settings.transport != "libfabric" && !settings.ib_disable) kinds.emplace_back("verbs");
  if (settings.transport != "verbs") kinds.emplace_back("libfabric");
  std::string reason;
  for (const auto& kind : kinds) {
    auto mine = open(kind, settings, bootstrap, near);
    const auto all = tell_all(mine.kind, bootstrap, until);
    const auto other =
        std::find_if(all.begin(), all.end(), [&](const auto& each) { return each != all[0]; });
    if (other == all.end() && !all[0].empty()) return {std::move(mine.network), ""};
    const auto name = [](const std::string& each) { return each.empty() ? "nothing" : each; };
    if (!reason.empty()) reason += "; ";
    if (!mine.reason.empty())
      reason += mine.reason;
    else
      reason += fmt::format(
          "of {}, PE {} has {} and PE 0 {}: choose one that all have with HEDDLE_TRANSPORT or "
          "HEDDLE_FABRIC_PROVIDER",
          kind, other - all.begin(), name(*other), name(all[0]));
  }
  return {nullptr, reason};
}

}  // namespace heddle
