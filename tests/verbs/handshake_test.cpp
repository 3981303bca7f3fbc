// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <heddle/error.hpp>

#include "host/transport/verbs/hello.hpp"
#include "host/transport/verbs/peer_address.hpp"

using namespace heddle::verbs;

namespace {

rail_address rail(const std::string& name, std::uint64_t network,
                  link_layer link = link_layer::ethernet) {
  rail_address made;
  made.name = name;
  made.network = network;
  made.link = link;
  made.value[15] = 7;
  made.datagram_queue = 0x123456;
  made.lid = 0xabcd;
  made.mtu_code = 5;
  made.most_reads = 16;
  return made;
}

std::pair<int, int> pair(const peer_address& low, const peer_address& high, int lane) {
  const auto found = rails_of(low, high, lane);
  return {found.low, found.high};
}

}  // namespace

TEST_CASE("an address comes out as it went in, and fits with the most rails there may be") {
  peer_address sent{0x1234567812345678, 0x7bcdef01, {}};
  for (std::size_t i = 0; i < peer_address::most_rails; ++i)
    sent.rails.push_back(rail("a_device_with_a_long_name", 0x1122334455667788 + i));
  const auto bytes = encode(sent);
  CHECK(bytes.size() <= 256);
  const auto got = decode(bytes);
  CHECK(got.id == sent.id);
  CHECK(got.id == sent.id);
  CHECK(got.queue_key == sent.queue_key);
  REQUIRE(got.rails.size() == sent.rails.size());
  for (std::size_t i = 0; i < got.rails.size(); ++i) {
    CHECK(got.rails[i].value == sent.rails[i].value);
    CHECK(got.rails[i].network == sent.rails[i].network);
    CHECK(got.rails[i].datagram_queue == sent.rails[i].datagram_queue);
    CHECK(got.rails[i].lid == sent.rails[i].lid);
    CHECK(got.rails[i].mtu_code == sent.rails[i].mtu_code);
    CHECK(got.rails[i].most_reads == sent.rails[i].most_reads);
    CHECK(got.rails[i].link == sent.rails[i].link);
    CHECK(got.rails[i].name == "a_device_with_a");
  }
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK_THROWS_WITH_AS((void)decode(std::span(bytes).first(size)),
                         doctest::Contains("do all PEs run the same heddle?"), heddle::error);
}

TEST_CASE("lanes go round the rails, and keep to one network where they can") {
  const peer_address two{1, 1, {rail("a", 1), rail("b", 2)}};
  const peer_address turned{1, 1, {rail("b", 2), rail("a", 1)}};
  CHECK(pair(two, two, 0) == std::pair(0, 0));
  CHECK(pair(two, two, 1) == std::pair(1, 1));
  CHECK(pair(two, two, 2) == std::pair(0, 0));
  CHECK(pair(two, turned, 0) == std::pair(0, 1));
  CHECK(pair(two, turned, 1) == std::pair(1, 0));
  const peer_address flat{1, 1, {rail("a", 1), rail("b", 1)}};
  CHECK(pair(flat, flat, 1) == std::pair(1, 1));
  const peer_address one{1, 1, {rail("a", 1)}};
  CHECK(pair(one, flat, 1) == std::pair(0, 1));
  CHECK(pair(flat, one, 1) == std::pair(1, 0));
}

TEST_CASE("rails of unlike networks are joined by routers, unlike kinds are not") {
  const peer_address here{1, 1, {rail("a", 1)}};
  CHECK(pair(here, {1, 1, {rail("b", 2)}}, 0) == std::pair(0, 0));
  CHECK(pair(here, {1, 1, {rail("b", 1, link_layer::infiniband)}}, 0) == std::pair(-1, -1));
  CHECK(pair({1, 1, {}}, here, 0) == std::pair(-1, -1));
}

TEST_CASE("a hello is taken from this job alone") {
  job_token token{};
  token[3] = std::byte{9};
  const hello sent{true, 0x123456789abcdef0, 3, 2, 0xabcdef, 0x123456, 0xfedcba};
  const auto bytes = encode(sent, token);
  CHECK(bytes.size() <= hello::most_bytes);
  const auto got = decode_hello(bytes, token);
  REQUIRE(got);
  CHECK(got->is_answer);
  CHECK(got->from == 0x123456789abcdef0);
  CHECK(got->to == 3);
  CHECK(got->lane == 2);
  CHECK(got->queue == 0xabcdef);
  CHECK(got->first == 0x123456);
  CHECK(got->joined == 0xfedcba);
  CHECK_FALSE(decode_hello(bytes, job_token{}));
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK_FALSE(decode_hello(std::span(bytes).first(size), token));
}
