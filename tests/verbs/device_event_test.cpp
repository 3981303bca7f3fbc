// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/transport/verbs/device_event.hpp"

#include <doctest/doctest.h>

using namespace heddle::verbs;

TEST_CASE("a device that fails is lost whatever port is used") {
  for (const auto event : {IBV_EVENT_DEVICE_FATAL, IBV_EVENT_CQ_ERR, IBV_EVENT_SRQ_ERR})
    for (const int port : {1, 2}) CHECK(effect_of(event, 0, port) == event_effect::device_lost);
  CHECK(device_failure("mlx5_0:1", "local catastrophic error") ==
        "the RDMA device of mlx5_0:1 failed (local catastrophic error); see the system's log "
        "(dmesg)");
}

TEST_CASE("events of a port matter to those who use it") {
  CHECK(effect_of(IBV_EVENT_PORT_ERR, 2, 2) == event_effect::port_down);
  CHECK(effect_of(IBV_EVENT_PORT_ACTIVE, 2, 2) == event_effect::port_up);
  CHECK(effect_of(IBV_EVENT_PORT_ERR, 1, 2) == event_effect::none);
  CHECK(effect_of(IBV_EVENT_PORT_ACTIVE, 1, 2) == event_effect::none);
}

TEST_CASE("errors of a queue pair are of its connection alone, and news are no errors") {
  for (const auto event : {IBV_EVENT_QP_FATAL, IBV_EVENT_QP_REQ_ERR, IBV_EVENT_QP_ACCESS_ERR})
    CHECK(effect_of(event, 0, 1) == event_effect::connection_lost);
  for (const auto event : {IBV_EVENT_COMM_EST, IBV_EVENT_SQ_DRAINED, IBV_EVENT_QP_LAST_WQE_REACHED,
                           IBV_EVENT_GID_CHANGE, IBV_EVENT_SM_CHANGE, IBV_EVENT_LID_CHANGE})
    CHECK(effect_of(event, 1, 1) == event_effect::none);
}
