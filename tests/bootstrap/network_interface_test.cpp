// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// Which of several interfaces HEDDLE_SOCKET_IFNAME chooses.
#include "bootstrap/network_interface.hpp"

#include <doctest/doctest.h>

#include <heddle/error.hpp>

using namespace heddle;

namespace {

/// What is chosen of these; by the kernel's order, loopback first.
std::string chosen(std::string_view wanted, const std::vector<std::string>& others) {
  std::vector<network_interface> all{{"lo", true, {}}};
  for (const auto& name : others) all.push_back({name, false, {}});
  return choose_interface(all, wanted).name;
}

const std::vector<std::string> usual = {"docker0", "eth0", "eth1", "eth10", "ib0"};

}  // namespace

TEST_CASE("without HEDDLE_SOCKET_IFNAME the first is taken that is no loopback and no bridge") {
  CHECK(chosen("", usual) == "eth0");
  CHECK(chosen("", {"eth1", "eth0"}) == "eth1");
  CHECK(chosen("", {"docker0"}) == "docker0");
  CHECK(chosen("", {}) == "lo");
}

TEST_CASE("HEDDLE_SOCKET_IFNAME lists prefixes") {
  CHECK(chosen("eth", usual) == "eth0");
  CHECK(chosen("eth1", usual) == "eth1");
  CHECK(chosen("eth10", usual) == "eth10");
  CHECK(chosen("ib", usual) == "ib0");
  CHECK(chosen("wlan,ib", usual) == "ib0");
  CHECK(chosen("ib,eth", usual) == "eth0");  // the machine's order, not the list's
  CHECK(chosen(",ib,", usual) == "ib0");
  CHECK(chosen("docker", usual) == "docker0");
  CHECK(chosen("lo", usual) == "lo");
}

TEST_CASE("HEDDLE_SOCKET_IFNAME lists exact names after =") {
  CHECK(chosen("=eth1", {"eth10", "eth1"}) == "eth1");
  CHECK(chosen("eth1", {"eth10", "eth1"}) == "eth10");
  CHECK(chosen("=wlan0,ib0", usual) == "ib0");
  CHECK_THROWS_WITH_AS((void)chosen("=eth", usual),
                       "HEDDLE_SOCKET_IFNAME=\"=eth\" matches no interface that is up and has an "
                       "address; there are: lo, docker0, eth0, eth1, eth10, ib0",
                       error);
}

TEST_CASE("HEDDLE_SOCKET_IFNAME leaves out what it lists after ^") {
  CHECK(chosen("^eth0", usual) == "eth1");
  CHECK(chosen("^eth1", usual) == "eth0");
  CHECK(chosen("^eth", usual) == "ib0");
  CHECK(chosen("^eth,ib", usual) == "docker0");
  CHECK(chosen("^eth,ib,docker", usual) == "lo");
  CHECK(chosen("^eth1", {"eth10", "ib0"}) == "ib0");
  CHECK(chosen("^=eth1", {"eth10", "ib0"}) == "eth10");
  CHECK(chosen("^=eth0,eth1", usual) == "eth10");
  CHECK(chosen("^", usual) == "eth0");
  CHECK_THROWS_WITH_AS((void)chosen("^lo", {}), doctest::Contains("there are: lo"), error);
}
