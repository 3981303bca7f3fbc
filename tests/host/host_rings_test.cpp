// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/host_rings.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "bootstrap/imitated_hosts.hpp"
#include "bootstrap/thread_bootstrap.hpp"

using heddle::host_rings;
using heddle::pe_place;

namespace {

/// What each PE of a job is told of the positions of all; each runs on one of these processors.
std::vector<std::vector<int>> positions_on(const std::vector<std::string>& processors,
                                           int pes_per_host) {
  const auto n = static_cast<int>(processors.size());
  std::vector<pe_place> places;
  for (const auto& each : processors)
    places.push_back({.device = "host", .pci_address = "", .processors = each});
  heddle::thread_rendezvous rendezvous(n);
  std::vector<std::vector<int>> told(processors.size());
  std::vector<std::thread> pes;
  for (int rank = 0; rank < n; ++rank)
    pes.emplace_back([&, rank] {
      auto bootstrap = heddle::imitate_hosts(rendezvous.join(rank), pes_per_host);
      const auto rings =
          host_rings::agree(*bootstrap, places, heddle::deadline::after(std::chrono::seconds(20)));
      for (int pe = 0; pe < n; ++pe)
        told[static_cast<std::size_t>(rank)].push_back(rings.position(pe));
      bootstrap->leave();
    });
  for (auto& pe : pes) pe.join();
  return told;
}

void check_positions(const std::vector<std::string>& processors, int pes_per_host,
                     const std::vector<int>& expected) {
  for (const auto& told : positions_on(processors, pes_per_host)) CHECK(told == expected);
}

}  // namespace

// hwloc's own way to tell a process of another machine: two packages of two processors.
TEST_CASE("the PEs of a host are in the order of its machine, on all PEs") {
  ::setenv("HWLOC_SYNTHETIC", "package:2 numa:1 pu:2", 1);
  ::setenv("HWLOC_THISSYSTEM", "1", 1);
  SUBCASE("dealt to packages in turn, on one host of two") {
    check_positions({"0", "2", "1", "3", "0", "0", "0", "0"}, 4, {0, 2, 1, 3, 4, 5, 6, 7});
  }
  SUBCASE("on both") {
    check_positions({"0-1", "2-3", "0-1", "0", "2", "1", "3"}, 3, {0, 2, 1, 3, 5, 4, 6});
  }
  SUBCASE("in order already") { check_positions({"0", "1", "2", "3"}, 4, {0, 1, 2, 3}); }
  SUBCASE("where the machine is not asked: few PEs, or all at one place") {
    check_positions({"0", "2", "0", "2"}, 2, {0, 1, 2, 3});
    check_positions({"0-3", "0-3", "0-3", "0-3"}, 4, {0, 1, 2, 3});
  }
  SUBCASE("processors that the machine does not have") {
    check_positions({"70", "2", "71", "0"}, 4, {0, 2, 1, 3});
  }
  SUBCASE("of another machine than the PEs'") {
    ::setenv("HWLOC_THISSYSTEM", "0", 1);
    check_positions({"0", "2", "1", "3"}, 4, {0, 1, 2, 3});
  }
}
