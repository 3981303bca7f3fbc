// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstdio>
#include <fstream>
#include <heddle/error.hpp>

#include "host/transport/nic_choice.hpp"
#include "topology/analysis.hpp"
#include "topology/read_machine.hpp"

using namespace heddle::topology;

namespace {

machine read_file(const std::string& name) { return read_machine(HEDDLE_MACHINES "/" + name); }

std::string between(const machine& machine, const endpoint& a, const endpoint& b) {
  return find_path(machine, a, b).text();
}

/// What reading the file throws.
std::string error_of(const std::string& file) {
  try {
    (void)read_machine(file);
  } catch (const heddle::error& failure) {
    CHECK(failure.status() == HEDDLE_ERROR_INVALID_ARGUMENT);
    return failure.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("a machine of eight GPUs and NICs, four switches and two packages is read from XML") {
  const auto dgx = read_file("dgx.xml");
  CHECK(dgx.name == "dgx");
  CHECK(dgx.source.ends_with("dgx.xml"));
  REQUIRE(dgx.packages.size() == 2);
  CHECK(dgx.packages[1].model == "Intel(R) Xeon(R) Platinum 8480C");
  REQUIRE(dgx.numa_nodes.size() == 2);
  CHECK(dgx.numa_nodes[1].package == 1);
  CHECK(dgx.numa_nodes[1].cores == 2);
  CHECK(dgx.numa_nodes[1].processors == "2-3");
  CHECK(dgx.numa_nodes[1].memory_bytes == std::uint64_t{1} << 40);
  CHECK(dgx.numa_nodes[1].caches == 1);
  CHECK(dgx.numa_nodes[1].cache_level == 3);
  CHECK(dgx.numa_nodes[1].cache_bytes == std::uint64_t{105} << 20);
  REQUIRE(dgx.gpus.size() == 8);
  CHECK(dgx.gpus[5].name == "NVIDIA H100 80GB HBM3");
  CHECK(dgx.gpus[5].place.address == "0000:9c:00.0");
  CHECK(dgx.gpus[5].place.where == locality{1, 1});
  CHECK(dgx.gpus[5].place.gigabytes == doctest::Approx(63.0).epsilon(0.01));
  CHECK(dgx.nvswitches.size() == 4);
  REQUIRE(dgx.nics.size() == 8);
  CHECK(dgx.nics[5].name() == "mlx5_5");
  REQUIRE(dgx.nics[5].ports.size() == 2);
  CHECK(dgx.nics[5].ports[1].state == "ACTIVE");
  CHECK(between(dgx, end_of_gpu(0), end_of_gpu(7)) == "NV18");
  CHECK(find_path(dgx, end_of_gpu(0), end_of_gpu(7)).gigabytes == doctest::Approx(450));
  CHECK(between(dgx, end_of_gpu(0), end_of_nic(1)) == "PIX");
  CHECK(between(dgx, end_of_gpu(0), end_of_nic(2)) == "NODE");
  CHECK(between(dgx, end_of_gpu(0), end_of_nic(4)) == "SYS");
  const auto found = analyse(dgx);
  for (int i = 0; i < 8; ++i) CHECK(found.rails[static_cast<std::size_t>(i)].nic == i);
}

TEST_CASE("the PEs of a machine, one for each GPU, take the NICs that its topology calls theirs") {
  const auto dgx = read_file("dgx.xml");
  // As the kernel names devices: "/sys/devices/pci0000:17/0000:17:01.0/0000:18:00.0".
  const auto place_of = [&](const pci_place& place) {
    std::string path = "/" + place.address;
    for (int at = place.bridge; at >= 0; at = dgx.bridges[static_cast<std::size_t>(at)].parent) {
      const auto& bridge = dgx.bridges[static_cast<std::size_t>(at)];
      path.insert(0, (bridge.parent < 0 ? "/pci" : "/") + bridge.address);
    }
    return heddle::device_place{"/sys/devices" + path, place.where.numa_node};
  };
  const auto rails = analyse(dgx).rails;
  for (std::size_t gpu = 0; gpu < dgx.gpus.size(); ++gpu) {
    std::vector<heddle::nic_offer> offers;
    for (const auto& nic : dgx.nics)
      offers.push_back(
          {nic.name(), 1, nic.gigabits(),
           heddle::distance_between(place_of(nic.place), place_of(dgx.gpus[gpu].place))});
    const auto choice = heddle::choose_nics(offers, static_cast<int>(gpu), offers.size());
    CHECK(choice.chosen.front() == static_cast<std::size_t>(rails[gpu].nic));
  }
}

TEST_CASE(
    "switches on switches, cards of two functions and a server's own display are told apart") {
  const auto nested = read_file("nested.xml");
  REQUIRE(nested.gpus.size() == 3);  // not the display
  REQUIRE(nested.nics.size() == 3);
  CHECK(between(nested, end_of_gpu(1), end_of_gpu(2)) == "PIX");
  CHECK(between(nested, end_of_gpu(0), end_of_gpu(1)) == "PXB");
  CHECK(between(nested, end_of_nic(0), end_of_nic(1)) == "PIX");
  CHECK(between(nested, end_of_gpu(0), end_of_nic(0)) == "PIX");
  CHECK(between(nested, end_of_gpu(0), end_of_nic(2)) == "PHB");
  CHECK(nested.numa_nodes[0].threads == 4);
}

TEST_CASE("packages of several NUMA nodes are read from XML") {
  const auto numa = read_file("numa.xml");
  CHECK(numa.packages.size() == 2);
  REQUIRE(numa.numa_nodes.size() == 4);
  CHECK(numa.numa_nodes[2].package == 1);
  CHECK(numa.cores() == 16);
  CHECK(locate(numa, "0-3") == locality{0, 0});
  CHECK(locate(numa, "0-7") == locality{0, -1});
  CHECK(locate(numa, "4-8") == locality{-1, -1});
}

TEST_CASE("a NUMA node of several packages is in none of them") {
  const auto shared = read_file("shared_nodes.xml");
  CHECK(shared.packages.size() == 4);
  REQUIRE(shared.numa_nodes.size() == 2);
  for (const auto& node : shared.numa_nodes) {
    CHECK(node.package == -1);
    CHECK(node.cores == 2);
  }
  CHECK(locate(shared, "2") == locality{-1, 1});
}

TEST_CASE("a file that is no machine is refused, with what to do") {
  CHECK(error_of("/nonexistent/machine.xml").find("No such file or directory") !=
        std::string::npos);
  const std::string here = HEDDLE_MACHINES "/";
  CHECK(error_of(here).find("is not a machine in hwloc's XML") != std::string::npos);
  char name[] = "/tmp/heddle-machine-XXXXXX";
  REQUIRE(::mkstemp(name) >= 0);
  std::string whole;
  std::getline(std::ifstream(here + "dgx.xml"), whole, '\0');
  for (const auto& text :
       {std::string(), std::string("no XML"), whole.substr(0, whole.size() / 2)}) {
    std::ofstream(name) << text;
    const auto told = error_of(name);
    CHECK(told.find(std::string(name) + " is not a machine in hwloc's XML") != std::string::npos);
    CHECK(told.find("`lstopo FILE.xml` writes one") != std::string::npos);
  }
  std::remove(name);
}

TEST_CASE("this machine is read without an error, whatever it has") {
  const auto here = read_machine("");
  CHECK(here.source.empty());
  CHECK_FALSE(here.name.empty());
  CHECK(here.packages.size() >= 1);
  CHECK(here.numa_nodes.size() >= 1);
  CHECK(here.cores() >= 1);
}
