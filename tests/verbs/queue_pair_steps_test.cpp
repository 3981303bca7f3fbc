// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// What the variables of InfiniBand become in a queue pair.
#include "host/transport/verbs/queue_pair_steps.hpp"

#include <doctest/doctest.h>

#include <cstring>

#include "bootstrap/environment_variable.hpp"
#include "host/network_choice.hpp"

using namespace heddle;
using namespace heddle::verbs;

namespace {

verbs_options from_environment() { return verbs_wishes(environment::from_process()); }

rdma_port port(link_layer link) {
  rdma_port made;
  made.port = 2;
  made.link = link;
  made.chosen_gid = 3;
  return made;
}

rail_address address(std::uint64_t network, std::uint16_t lid, std::uint8_t mtu_code = IBV_MTU_4096,
                     std::uint8_t most_reads = 16) {
  rail_address made;
  made.value = {0xfe, 0x80, 1, 2, 3};
  made.network = network;
  made.lid = lid;
  made.mtu_code = mtu_code;
  made.most_reads = most_reads;
  return made;
}

}  // namespace

TEST_CASE("retries and time-outs of a queue pair are those of the environment") {
  auto step = step_to_send(address(1, 0), 0xabcdef, 16, from_environment());
  CHECK(step.attributes.timeout == 20);
  CHECK(step.attributes.retry_cnt == 7);
  const environment_variable timeout("HEDDLE_IB_TIMEOUT", "11");
  const environment_variable retries("HEDDLE_IB_RETRY_CNT", "3");
  step = step_to_send(address(1, 0), 0xabcdef, 16, from_environment());
  CHECK(step.attributes.qp_state == IBV_QPS_RTS);
  CHECK(step.attributes.timeout == 11);
  CHECK(step.attributes.retry_cnt == 3);
  CHECK(step.attributes.rnr_retry == 7);  // for ever: a peer that has no buffer now will have one
  CHECK(step.attributes.sq_psn == 0xabcdef);
  CHECK((step.mask & IBV_QP_TIMEOUT) != 0);
  CHECK((step.mask & IBV_QP_RETRY_CNT) != 0);
}

TEST_CASE("service level, traffic class and GID go into the path") {
  const environment_variable level("HEDDLE_IB_SL", "5");
  const environment_variable traffic_class("HEDDLE_IB_TRAFFIC_CLASS", "104");
  const environment_variable gid_index("HEDDLE_IB_GID_INDEX", "3");
  const auto options = from_environment();
  CHECK(options.gid_index == 3);
  const auto own = address(1, 7);
  const auto far = address(2, 9);
  auto path = path_between(port(link_layer::ethernet), own, own, options);
  CHECK(path.port_num == 2);
  CHECK(path.sl == 5);
  CHECK(path.is_global == 1);
  CHECK(path.grh.sgid_index == 3);
  CHECK(path.grh.traffic_class == 104);
  CHECK(std::memcmp(path.grh.dgid.raw, own.value.data(), own.value.size()) == 0);
  // On InfiniBand packets are routed to other subnets alone, or where there is no local number.
  path = path_between(port(link_layer::infiniband), own, address(1, 9), options);
  CHECK(path.is_global == 0);
  CHECK(path.dlid == 9);
  CHECK(path.sl == 5);
  path = path_between(port(link_layer::infiniband), own, far, options);
  CHECK(path.is_global == 1);
  CHECK(path.grh.traffic_class == 104);
  CHECK(path_between(port(link_layer::infiniband), own, address(1, 0), options).is_global == 1);
  const auto step = step_to_receive(path, own, far, 77, 88);
  CHECK((step.mask & IBV_QP_AV) != 0);
  CHECK(step.attributes.ah_attr.sl == 5);
  CHECK(step.attributes.ah_attr.grh.sgid_index == 3);
  CHECK(step.attributes.dest_qp_num == 77);
  CHECK(step.attributes.rq_psn == 88);
}

TEST_CASE("a lane for each context") {
  CHECK(from_environment().lanes == 4);
  const environment_variable contexts("HEDDLE_CONTEXTS", "9");
  CHECK(from_environment().lanes == 9);
}

TEST_CASE("two cards agree on what both can") {
  const auto weak = address(1, 0, IBV_MTU_1024, 4);
  const auto strong = address(1, 0, IBV_MTU_4096, 16);
  const ibv_ah_attr path{};
  for (const auto& [own, peer] : {std::pair{weak, strong}, std::pair{strong, weak}}) {
    const auto step = step_to_receive(path, own, peer, 1, 1);
    CHECK(step.attributes.path_mtu == IBV_MTU_1024);
    CHECK(step.attributes.max_dest_rd_atomic == own.most_reads);
  }
  const verbs_options options;
  CHECK(step_to_send(weak, 0, 16, options).attributes.max_rd_atomic == 4);
  CHECK(step_to_send(strong, 0, 8, options).attributes.max_rd_atomic == 8);
  CHECK(step_to_send(strong, 0, -1, options).attributes.max_rd_atomic == 0);
}

TEST_CASE("a card without atomics is asked for none") {
  const auto step = step_to_init(1, IBV_ATOMIC_NONE);
  CHECK(step.attributes.qp_access_flags == (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ));
  CHECK((step_to_init(1, IBV_ATOMIC_HCA).attributes.qp_access_flags & IBV_ACCESS_REMOTE_ATOMIC) !=
        0);
}
