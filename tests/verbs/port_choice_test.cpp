// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/transport/verbs/port_choice.hpp"

#include <doctest/doctest.h>

using heddle::nic_distance;
using namespace heddle::verbs;

namespace {

rdma_port usable(const std::string& device, double gigabits = 100,
                 nic_distance distance = nic_distance::same_numa_node) {
  rdma_port port;
  port.device = device;
  port.state = "ACTIVE";
  port.link = link_layer::ethernet;
  port.gigabits = gigabits;
  port.distance = distance;
  port.chosen_gid = 0;
  return port;
}

std::vector<std::string> chosen(const std::vector<rdma_port>& ports, const port_request& request) {
  std::vector<std::string> names;
  for (const auto i : choose_ports(ports, request).chosen) names.push_back(ports[i].name());
  return names;
}

using names = std::vector<std::string>;

}  // namespace

TEST_CASE("HEDDLE_IB_HCA names devices by prefix, exactly, by port, or leaves them out") {
  struct port {
    const char* device;
    int number;
  };
  const auto admits = [](std::string_view filter, const port& one) {
    return heddle::verbs::admits(filter, one.device, one.number);
  };
  const port mlx5_0{"mlx5_0", 1};
  const port mlx5_10{"mlx5_10", 1};
  const port second{"mlx5_0", 2};
  CHECK(admits("", mlx5_0));
  CHECK(admits("mlx5", mlx5_0));
  CHECK(admits("rxe,mlx5_1", mlx5_10));
  CHECK_FALSE(admits("rxe", mlx5_0));
  CHECK_FALSE(admits("=mlx5_1", mlx5_10));
  CHECK(admits("=mlx5_1,mlx5_10", mlx5_10));
  CHECK(admits("mlx5_0:1", mlx5_0));
  CHECK_FALSE(admits("mlx5_0:1", second));
  CHECK(admits("=mlx5_0:2", second));
  CHECK_FALSE(admits("^mlx5_1", mlx5_10));
  CHECK(admits("^mlx5_1", mlx5_0));
  CHECK(admits("^=mlx5_1", mlx5_10));
  CHECK_FALSE(admits("^=mlx5_0:2", second));
  CHECK(admits("^=mlx5_0:2", mlx5_0));
  CHECK(admits("^", mlx5_0));
}

TEST_CASE("the fast ports are used, of these the nearest, in the order of their names") {
  const std::vector<rdma_port> ports = {usable("mlx5_10", 400, nic_distance::same_switch),
                                        usable("mlx5_2", 400, nic_distance::same_switch),
                                        usable("mlx5_1", 25, nic_distance::same_switch),
                                        usable("mlx5_3", 400)};
  CHECK(chosen(ports, {}) == names{"mlx5_2:1", "mlx5_10:1"});
  const auto choice = choose_ports(ports, {});
  CHECK(choice.reasons[1] == "chosen, number 1 of 2: behind one PCIe switch, 400 Gb/s");
  CHECK(choice.reasons[2] == "slow: another has 400 Gb/s");
  CHECK(choice.reasons[3] == "farther: another is behind one PCIe switch");
  CHECK(chosen(ports, {"=mlx5_1"}) == names{"mlx5_1:1"});
}

TEST_CASE("PEs of a host begin at different ports, and use a few") {
  std::vector<rdma_port> ports;
  for (int i = 0; i < 6; ++i) ports.push_back(usable("mlx5_" + std::to_string(i)));
  CHECK(chosen(ports, {"", 0, 2}) == names{"mlx5_0:1", "mlx5_1:1"});
  CHECK(chosen(ports, {"", 1, 2}) == names{"mlx5_1:1", "mlx5_2:1"});
  CHECK(chosen(ports, {"", 5, 2}) == names{"mlx5_5:1", "mlx5_0:1"});
  CHECK(chosen(ports, {"", 7, 1}) == names{"mlx5_1:1"});
  CHECK(choose_ports(ports, {"", 0, 2}).reasons[2] == "one PE uses 2 ports at most");
}

TEST_CASE("a port that cannot be used says why") {
  std::vector<rdma_port> ports(5, usable("mlx5_0"));
  ports[0].state = "DOWN";
  ports[1].problem = "it cannot be opened: Permission denied";
  ports[2].chosen_gid = -1;
  ports[2].why_gid = "no address";
  ports[3].device = "rxe0";
  const auto choice = choose_ports(ports, {"mlx5_0"});
  CHECK(choice.chosen == std::vector<std::size_t>{4});
  CHECK(choice.reasons[0] == "its state is DOWN, not ACTIVE");
  CHECK(choice.reasons[1] == "it cannot be opened: Permission denied");
  CHECK(choice.reasons[2] == "no address");
  CHECK(choice.reasons[3] == "HEDDLE_IB_HCA=\"mlx5_0\" leaves it out");
  CHECK(choose_ports({}, {}).chosen.empty());
}
