// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/transport/verbs/gid_choice.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>

#include <stdexcept>

using namespace heddle::verbs;

namespace {

gid address(const std::string& text) {
  gid value{};
  if (::inet_pton(AF_INET6, text.c_str(), value.data()) != 1) throw std::invalid_argument(text);
  return value;
}

gid_entry entry(int index, const std::string& text, gid_kind kind = gid_kind::roce_v2) {
  return {index, address(text), kind, "eth0"};
}

const std::vector<interface_address> here = {{"eth0", address("::ffff:10.1.2.3"), 96 + 16},
                                             {"eth0", address("2001:db8::3"), 64},
                                             {"eth0", address("fe80::3"), 64}};

int choose(const std::vector<gid_entry>& table, int wanted = -1) {
  return choose_gid(table, link_layer::ethernet, wanted, here).index;
}

}  // namespace

TEST_CASE("on Ethernet, RoCE v2 with an IPv4 address that the interface has comes first") {
  std::vector<gid_entry> table = {entry(0, "fe80::3", gid_kind::roce_v1),
                                  entry(1, "fe80::3"),
                                  entry(2, "::ffff:10.1.2.3", gid_kind::roce_v1),
                                  entry(3, "::ffff:10.9.9.9"),
                                  entry(4, "2001:db8::3"),
                                  entry(5, "::ffff:10.1.2.3")};
  CHECK(choose(table) == 5);
  CHECK(choose_gid(table, link_layer::ethernet, -1, here).why == "RoCE v2, IPv4 10.1.2.3 of eth0");
  table.pop_back();
  CHECK(choose(table) == 4);
  table.pop_back();
  CHECK(choose(table) == 1);
  CHECK(choose_gid(table, link_layer::ethernet, -1, here).why ==
        "RoCE v2, link-local fe80::3 of eth0");
  table.erase(table.begin() + 1);
  CHECK(choose(table) == 3);
  CHECK(choose_gid(table, link_layer::ethernet, -1, here).why ==
        "RoCE v2, IPv4 10.9.9.9 of eth0, which no interface has now");
  table.pop_back();
  CHECK(choose(table) == 2);
  CHECK(choose({}) == -1);
  CHECK(choose({{0, {}, gid_kind::roce_v2, "eth0"}}) == -1);
}

TEST_CASE("an address of another interface does not count as the port's") {
  auto other = entry(1, "::ffff:10.1.2.3");
  other.interface = "eth1";
  CHECK(choose({other, entry(2, "fe80::3")}) == 2);
}

TEST_CASE("HEDDLE_IB_GID_INDEX is taken as it is, or refused with the reason") {
  const std::vector<gid_entry> table = {entry(0, "fe80::3", gid_kind::roce_v1),
                                        entry(5, "::ffff:10.1.2.3")};
  CHECK(choose(table, 0) == 0);
  CHECK(choose_gid(table, link_layer::ethernet, 0, here).why ==
        "HEDDLE_IB_GID_INDEX: RoCE v1, link-local fe80::3 of eth0");
  const auto missing = choose_gid(table, link_layer::ethernet, 3, here);
  CHECK(missing.index == -1);
  CHECK(missing.why == "HEDDLE_IB_GID_INDEX=3, which is empty in this port's table");
}

TEST_CASE("InfiniBand has its own addresses, of which the first is used") {
  const std::vector<gid_entry> table = {{0, address("fe80::c0:ffee"), gid_kind::infiniband, ""},
                                        {1, address("fec0::c0:ffee"), gid_kind::infiniband, ""}};
  CHECK(choose_gid(table, link_layer::infiniband, -1, here).index == 0);
  CHECK(choose_gid(table, link_layer::infiniband, -1, here).why == "InfiniBand, fe80::c0:ffee");
  CHECK(choose_gid({}, link_layer::infiniband, -1, here).index == -1);
  CHECK(choose_gid(table, link_layer::ethernet, -1, here).index == -1);
}

TEST_CASE("ports reach each other without a router if their networks are the same") {
  const auto network = [](const std::string& text, link_layer link) {
    return network_of(address(text), link, here);
  };
  const std::vector<interface_address> other = {{"eth0", address("::ffff:10.1.77.77"), 96 + 16}};
  CHECK(network("::ffff:10.1.2.3", link_layer::ethernet) ==
        network_of(other[0].value, link_layer::ethernet, other));
  CHECK(network("::ffff:10.1.2.3", link_layer::ethernet) != 0);
  CHECK(network("2001:db8::3", link_layer::ethernet) == 0x20010db800000000);
  CHECK(network("2001:db8::4", link_layer::ethernet) == 0);
  CHECK(network("fe80::1", link_layer::infiniband) == 0xfe80000000000000);
}
