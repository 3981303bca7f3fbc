// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// Which NIC is near to what, and which a PE takes.
#include "host/transport/nic_choice.hpp"

#include <doctest/doctest.h>

#include "imitated_sysfs.hpp"

using namespace heddle;
using heddle::conformance::imitated_sysfs;

TEST_CASE("distance is told by the way through PCIe, else by NUMA nodes") {
  const std::string root = "/sys/devices/pci0000:3a/";
  const auto gpu = root + "0000:3a:00.0/0000:3b:00.0/0000:3c:04.0/0000:3d:00.0";
  const auto near = root + "0000:3a:00.0/0000:3b:00.0/0000:3c:08.0/0000:3e:00.0";
  const auto beside = root + "0000:3a:01.0/0000:40:00.0";
  const std::string far = "/sys/devices/pci0000:80/0000:80:00.0/0000:81:00.0";
  CHECK(distance_between({near, 0}, {gpu, 0}) == nic_distance::same_switch);
  CHECK(distance_between({beside, 0}, {gpu, 0}) == nic_distance::same_root);
  CHECK(distance_between({far, 0}, {gpu, 0}) == nic_distance::same_numa_node);
  CHECK(distance_between({far, 1}, {gpu, 0}) == nic_distance::other_numa_node);
  CHECK(distance_between({near, 1}, {"", 1}) == nic_distance::same_numa_node);
  CHECK(distance_between({near, -1}, {"", 1}) == nic_distance::unknown);
  CHECK(distance_between({"/sys/devices/virtual/net/va", -1}, {gpu, 0}) == nic_distance::unknown);
}

TEST_CASE("a device's place is read where the kernel tells it") {
  const imitated_sysfs sysfs;
  const std::string path = "pci0000:3a/0000:3a:00.0/0000:3b:00.0";
  sysfs.add_pci_device(path, 1);
  const auto place = place_of_pci_device("0000:3b:00.0", sysfs.folder());
  CHECK(place.path == "/sys/devices/" + path);
  CHECK(place.numa_node == 1);
  CHECK(place_of_pe("0000:3b:00.0", sysfs.folder()).path == place.path);
  CHECK(place_of_pe("", sysfs.folder()).path.empty());
  const auto none = place_of_pci_device("0000:ff:00.0", sysfs.folder());
  CHECK(none.path.empty());
  CHECK(none.numa_node == -1);
}

TEST_CASE("of NICs that would do the fast ones count, and the nearest of these, in turn") {
  const std::vector<nic_offer> offers = {{"far", 1, 100, nic_distance::other_numa_node},
                                         {"near_10", 1, 100, nic_distance::same_root},
                                         {"near_2", 1, 100, nic_distance::same_root},
                                         {"slow", 1, 40, nic_distance::same_switch}};
  using indices = std::vector<std::size_t>;
  CHECK(choose_nics(offers, 0, 4).chosen == indices{2, 1});
  CHECK(choose_nics(offers, 3, 4).chosen == indices{1, 2});
  CHECK(choose_nics(offers, 3, 1).chosen == indices{1});
  const auto reasons = choose_nics(offers, 0, 1).reasons;
  CHECK(reasons[0] == "farther: another is on one PCIe root");
  CHECK(reasons[1] == "one PE uses 1 ports at most");
  CHECK(reasons[2] == "number 1 of 1: on one PCIe root, 100 Gb/s");
  CHECK(reasons[3] == "slow: another has 100 Gb/s");
  CHECK(choose_nics({}, 5, 4).chosen.empty());
}
