// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/host_rings.hpp"

#include <algorithm>
#include <exception>
#include <map>
#include <numeric>
#include <string_view>

#include "support/log.hpp"
#include "topology/read_machine.hpp"
#include "topology/ring.hpp"

namespace heddle {
namespace {

using numbers = std::vector<std::int32_t>;

bool can_matter(const numbers& pes, std::span<const pe_place> places) {
  const auto place = [&](std::int32_t pe) -> const pe_place& {
    return places[static_cast<std::size_t>(pe)];
  };
  return pes.size() > 2 && std::any_of(pes.begin(), pes.end(), [&](std::int32_t pe) {
           return place(pe) != place(pes.front());
         });
}

/// Of this host; as they are if its machine cannot be told.
numbers find_chain(const numbers& pes, std::span<const pe_place> places) {
  try {
    auto machine = topology::read_machine("");
    if (!machine.source.empty()) return pes;  // HWLOC_XMLFILE: they do not run there
    for (const auto pe : pes) add_pe(machine, pe, places[static_cast<std::size_t>(pe)]);
    auto chain = chain_of_pes(machine);
    if (chain != pes)
      log::info(log::subsystem::coll, "rings go through this host's PEs in the order {}",
                fmt::join(chain, " "));
    return chain;
  } catch (const std::exception& error) {
    log::warn(log::subsystem::coll,
              "rings go through this host's PEs in the order of their numbers, since its topology "
              "cannot be read: {}",
              error.what());
    return pes;
  }
}

}  // namespace

numbers chain_of_pes(const topology::machine& machine) {
  std::vector<topology::endpoint> ends;
  for (const auto& pe : machine.pes) ends.push_back(topology::end_of_pe(pe));
  numbers chain;
  for (const int i : topology::best_chain(machine, ends))
    chain.push_back(machine.pes[topology::at(i)].rank);
  return chain;
}

host_rings host_rings::agree(bootstrap& bootstrap, std::span<const pe_place> places,
                             deadline until) {
  std::map<std::string_view, numbers> hosts;
  for (int pe = 0; pe < bootstrap.size(); ++pe) hosts[bootstrap.host_of(pe)].push_back(pe);
  std::erase_if(hosts, [&](const auto& host) { return !can_matter(host.second, places); });
  if (hosts.empty()) return {};
  byte_writer mine;
  const auto here = hosts.find(bootstrap.host_of(bootstrap.rank()));
  if (here != hosts.end() && here->second.front() == bootstrap.rank())
    for (const auto pe : find_chain(here->second, places)) mine.number(pe);
  const auto told = bootstrap.all_gather(mine.bytes(), until);
  host_rings rings;
  rings.positions_.resize(static_cast<std::size_t>(bootstrap.size()));
  std::iota(rings.positions_.begin(), rings.positions_.end(), 0);
  for (const auto& [name, pes] : hosts) {
    byte_reader order(told[static_cast<std::size_t>(pes.front())]);
    for (const auto position : pes) rings.positions_.at(order.number<std::uint32_t>()) = position;
  }
  return rings;
}

}  // namespace heddle
