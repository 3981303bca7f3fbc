// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

#include "topology/analysis.hpp"
#include "topology/machines.hpp"
#include "topology/pci_tree.hpp"

using namespace heddle::topology;
using namespace heddle::testing;

namespace {

std::string between(const machine& machine, const endpoint& a, const endpoint& b) {
  const auto there = find_path(machine, a, b).text();
  CHECK(find_path(machine, b, a).text() == there);
  return there;
}

using order = std::vector<int>;

order best_order(const machine& machine) { return analyse(machine).best.order; }

std::string told(const machine& machine) {
  const auto found = analyse(machine);
  return describe(found.best, found.numbers);
}

}  // namespace

TEST_CASE("paths are named as nvidia-smi names them") {
  auto made = make_machine({.packages = 2, .switches = 2, .gpus = 2, .nics = 1});
  CHECK(between(made, end_of_gpu(0), end_of_gpu(0)) == "X");
  CHECK(between(made, end_of_gpu(0), end_of_gpu(1)) == "PIX");
  CHECK(between(made, end_of_gpu(0), end_of_nic(0)) == "PIX");
  CHECK(between(made, end_of_gpu(0), end_of_gpu(2)) == "NODE");
  CHECK(between(made, end_of_gpu(0), end_of_nic(3)) == "SYS");
  CHECK(between(made, end_of_gpu(3), end_of_gpu(4)) == "SYS");
  join(made, 0, 1, 12);
  CHECK(between(made, end_of_gpu(0), end_of_gpu(1)) == "NV12");
  const auto nvlink = find_path(made, end_of_gpu(0), end_of_gpu(1));
  CHECK(nvlink.gigabytes == doctest::Approx(300));
  CHECK(nvlink.bandwidth() == bandwidth_class::nvlink);
  const auto pcie = find_path(made, end_of_gpu(0), end_of_nic(0));
  CHECK(pcie.gigabytes == doctest::Approx(31.5));
  CHECK(pcie.bandwidth() == bandwidth_class::pcie);
  CHECK(find_path(made, end_of_gpu(0), end_of_nic(1)).bandwidth() == bandwidth_class::processor);
  const auto far = find_path(made, end_of_gpu(0), end_of_nic(2));
  CHECK(far.bandwidth() == bandwidth_class::interconnect);
  CHECK(far.leaves_package);
}

TEST_CASE(
    "devices of several root ports meet in the host bridge, of several switches in a switch") {
  machine made = make_machine({.packages = 1, .switches = 0});
  const auto bridge = [&](int parent) {
    made.bridges.push_back({parent, "b" + std::to_string(made.bridges.size()), {0, 0}});
    return static_cast<int>(made.bridges.size()) - 1;
  };
  const auto add_gpu = [&](int on, const std::string& address) {
    made.gpus.emplace_back().place = {address, on, {0, 0}, 0};
  };
  const int host = bridge(-1);
  const int upstream = bridge(bridge(host));
  const int inner = bridge(bridge(upstream));
  add_gpu(bridge(inner), "0000:10:00.0");
  add_gpu(bridge(inner), "0000:11:00.0");
  add_gpu(bridge(upstream), "0000:12:00.0");
  add_gpu(bridge(host), "0000:13:00.0");
  const int card = bridge(host);
  add_gpu(card, "0000:14:00.0");
  add_gpu(card, "0000:14:00.1");
  CHECK(between(made, end_of_gpu(0), end_of_gpu(1)) == "PIX");
  CHECK(between(made, end_of_gpu(0), end_of_gpu(2)) == "PXB");
  CHECK(between(made, end_of_gpu(0), end_of_gpu(3)) == "PHB");
  CHECK(between(made, end_of_gpu(3), end_of_gpu(4)) == "PHB");
  CHECK(between(made, end_of_gpu(4), end_of_gpu(5)) == "PIX");
  const auto tree = pci_tree(made);
  REQUIRE(tree.size() == 1);
  CHECK(tree[0].gpus == order{3, 4, 5});
  REQUIRE(tree[0].switches.size() == 1);
  CHECK(tree[0].switches[0].bridge == upstream);
  CHECK(tree[0].switches[0].gpus == order{2});
  REQUIRE(tree[0].switches[0].switches.size() == 1);
  CHECK(tree[0].switches[0].switches[0].bridge == inner);
}

TEST_CASE("GPUs on NVSwitches have as many links as the one that has fewer") {
  auto made = make_machine({.packages = 1, .switches = 1, .gpus = 3});
  made.nvswitches.resize(2);
  const auto add = [&](int gpu, int nvswitch, int count) {
    made.gpus[static_cast<std::size_t>(gpu)].links.push_back(
        {nvlinks::kind::nvswitch, nvswitch, count, 25});
  };
  add(0, 0, 6);
  add(0, 1, 6);
  add(1, 0, 6);
  add(1, 1, 5);
  CHECK(between(made, end_of_gpu(0), end_of_gpu(1)) == "NV11");
  CHECK(between(made, end_of_gpu(0), end_of_gpu(2)) == "PIX");
}

TEST_CASE("where nothing is known of a device's place, nothing is said of its paths") {
  auto made = make_machine({.packages = 2, .switches = 1, .gpus = 1});
  made.gpus.emplace_back().place.address = "0000:99:00.0";
  CHECK(between(made, end_of_gpu(0), end_of_gpu(2)) == "?");
  auto one = make_machine({.packages = 1, .switches = 1, .gpus = 1});
  one.gpus.emplace_back().place.address = "0000:99:00.0";
  CHECK(between(one, end_of_gpu(0), end_of_gpu(1)) == "NODE");
  // Near to a package of several nodes: it crosses to some of them.
  made.numa_nodes[1].package = 0;
  made.gpus[2].place.where = {0, -1};
  CHECK(between(made, end_of_gpu(0), end_of_gpu(2)) == "SYS");
}

TEST_CASE("processors reach devices through a host bridge, and each other by memory") {
  auto made = make_machine({.packages = 2, .switches = 1, .gpus = 1, .nics = 1});
  for (const char* processors : {"0-3", "4-7", "8", "0-15"}) add_pe(made, processors);
  const auto pe = [&](std::size_t i) { return end_of_pe(made.pes[i]); };
  CHECK(made.pes[0].where == locality{0, 0});
  CHECK(made.pes[2].where == locality{1, 1});
  CHECK(made.pes[3].where == locality{-1, -1});
  CHECK(between(made, pe(0), end_of_nic(0)) == "PHB");
  CHECK(between(made, pe(0), end_of_nic(1)) == "SYS");
  CHECK(between(made, pe(0), pe(1)) == "X");
  CHECK(between(made, pe(0), pe(2)) == "SYS");
  CHECK(between(made, pe(0), pe(3)) == "?");
}

TEST_CASE("the ring of four GPUs in NVLink pairs crosses each pair once") {
  auto made = make_machine({.packages = 2, .switches = 1, .gpus = 2});
  CHECK(told(made) == "ring 0 1 2 3: PIX twice, crosses SYS twice");
  join(made, 0, 2, 4);
  join(made, 1, 3, 4);
  CHECK(told(made) == "ring 0 1 3 2: PIX twice, NV4 twice");
}

TEST_CASE("the ring of a hybrid cube mesh takes the double links") {
  auto made = make_machine({.packages = 2, .switches = 2, .gpus = 2});
  for (const auto& [a, b, count] : std::vector<std::array<int, 3>>{{0, 1, 1},
                                                                   {0, 2, 1},
                                                                   {0, 3, 2},
                                                                   {0, 4, 2},
                                                                   {1, 2, 2},
                                                                   {1, 3, 1},
                                                                   {1, 5, 2},
                                                                   {2, 3, 2},
                                                                   {2, 6, 1},
                                                                   {3, 7, 1},
                                                                   {4, 5, 1},
                                                                   {4, 6, 1},
                                                                   {4, 7, 2},
                                                                   {5, 6, 2},
                                                                   {5, 7, 1},
                                                                   {6, 7, 2}})
    join(made, a, b, count);
  CHECK(told(made) == "ring 0 3 2 1 5 6 7 4: NV2 8 times");
}

TEST_CASE("the ring of PEs puts those of a place together, however they are numbered") {
  auto made = make_machine({.packages = 2, .switches = 1, .gpus = 2});
  for (int i = 0; i < 8; ++i) add_pe(made, "0-15", (i * 3) % 4);
  // PEs 0 to 3 are on GPUs 0, 3, 2 and 1, of which 0 and 1, and 2 and 3, are on one switch.
  CHECK(told(made) == "ring 0 4 1 5 2 6 3 7: local 4 times, PIX twice, crosses SYS twice");
  auto on_processors = make_machine({.packages = 2, .switches = 0});
  for (int i = 0; i < 6; ++i) add_pe(on_processors, i % 2 == 0 ? "0-7" : "8-15");
  CHECK(told(on_processors) == "ring 0 2 4 1 3 5: local 4 times, crosses SYS twice");
  CHECK(describe_ring(analyse(on_processors))
            .find("(instead of ring 0 1 2 3 4 5: crosses SYS 6 "
                  "times)") != std::string::npos);
}

TEST_CASE("a chain leaves out the slowest hop of its ring") {
  const auto chain_of = [](std::initializer_list<const char*> processors) {
    auto made = make_machine({.packages = 2, .switches = 0});
    std::vector<endpoint> ends;
    for (const auto* each : processors) add_pe(made, each);
    for (const auto& pe : made.pes) ends.push_back(end_of_pe(pe));
    return best_chain(made, ends);
  };
  using order = std::vector<int>;
  CHECK(chain_of({}).empty());
  CHECK(chain_of({"0-7"}) == order{0});
  CHECK(chain_of({"0-7", "8-15"}) == order{0, 1});
  CHECK(chain_of({"0", "1", "2", "3"}) == order{0, 1, 2, 3});
  CHECK(chain_of({"0-7", "8-15", "8-15", "0-7"}) == order{0, 3, 1, 2});
  // The ring 0 1 2 3 of four GPUs, of which 1 and 2, and 3 and 0, are on one switch, is as good as
  // any.
  auto made = make_machine({.packages = 2, .switches = 1, .gpus = 2});
  for (const int gpu : {0, 2, 3, 1}) add_pe(made, "0-15", gpu);
  std::vector<endpoint> ends;
  for (const auto& pe : made.pes) ends.push_back(end_of_pe(pe));
  REQUIRE(best_ring(made, ends).order == order{0, 1, 2, 3});
  CHECK(best_chain(made, ends) == order{1, 2, 3, 0});
}

TEST_CASE("a ring that is too large to be tried out crosses each slow edge once as well") {
  auto made = make_machine({.packages = 4, .switches = 2, .gpus = 4});  // 32 GPUs
  auto found = analyse(made);
  const auto count = [&](path_kind kind) {
    return found.best.count[static_cast<std::size_t>(kind)];
  };
  CHECK(found.best.order.size() == 32);
  CHECK(count(path_kind::sys) == 4);
  CHECK(count(path_kind::node) == 4);
  CHECK(count(path_kind::pix) == 24);
  // NVLinks against the tree: in each package from one switch to the other.
  for (int package = 0; package < 4; ++package)
    for (int i = 0; i < 4; ++i) join(made, 8 * package + i, 8 * package + 4 + i, 2);
  found = analyse(made);
  CHECK(count(path_kind::sys) == 4);
  CHECK(count(path_kind::node) == 0);
  CHECK(count(path_kind::nvlink) >= 12);
}

TEST_CASE("a ring of one, two or three is the order of their numbers, and of none is none") {
  for (const int gpus : {1, 2, 3}) {
    const auto made = make_machine({.packages = 1, .switches = 1, .gpus = gpus});
    CHECK(best_order(made).size() == static_cast<std::size_t>(gpus));
    CHECK(analyse(made).best.hops.size() == (gpus == 1 ? 0 : static_cast<std::size_t>(gpus)));
  }
  CHECK(told(make_machine({.packages = 1, .switches = 1, .gpus = 1})) == "ring 0");
  CHECK(describe_ring(analyse({})) == "no ring: there is no GPU, and no second PE");
}

TEST_CASE("a rail is the nearest fast NIC that is up, and GPUs of one switch take different ones") {
  auto made = make_machine({.packages = 2, .switches = 2, .gpus = 2, .nics = 2});
  const auto rails = [&] {
    order nics;
    for (const auto& rail : analyse(made).rails) nics.push_back(rail.nic);
    return nics;
  };
  CHECK(rails() == order{0, 1, 2, 3, 4, 5, 6, 7});
  made.nics[0].ports[0].state = "DOWN";
  made.nics[4].ports[0].gigabits = 100;
  CHECK(rails() == order{1, 1, 2, 3, 5, 5, 6, 7});
  // Without RDMA none of the others counts.
  made.nics[1].ports[0].is_rdma = false;
  CHECK(rails()[0] == 2);
  for (auto& nic : made.nics) nic.ports[0].state = "DOWN";
  CHECK(rails() == order(8, -1));
}

TEST_CASE("GPUs are numbered by address, and what names them follows") {
  auto made = make_machine({.packages = 1, .switches = 1, .gpus = 3});
  join(made, 0, 1, 4);
  add_pe(made, "0", 0);
  made.gpus[0].place.address = "0000:ff:00.0";
  sort_gpus(made);
  CHECK(made.gpus[2].place.address == "0000:ff:00.0");
  CHECK(made.gpus[0].links[0].index == 2);
  CHECK(made.gpus[2].links[0].index == 0);
  CHECK(made.pes[0].gpu == 2);
}
