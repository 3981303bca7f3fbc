// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/transport/verbs/device_event.hpp"

#include <fmt/format.h>

namespace heddle::verbs {

event_effect effect_of(ibv_event_type event, int event_port, int used_port) {
  switch (event) {
    case IBV_EVENT_PORT_ERR:
      return event_port == used_port ? event_effect::port_down : event_effect::none;
    case IBV_EVENT_PORT_ACTIVE:
      return event_port == used_port ? event_effect::port_up : event_effect::none;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
      return event_effect::connection_lost;
    case IBV_EVENT_DEVICE_FATAL:
    case IBV_EVENT_CQ_ERR:
    case IBV_EVENT_SRQ_ERR:
      return event_effect::device_lost;
    default:
      return event_effect::none;
  }
}

std::string device_failure(const std::string& port, const std::string& event) {
  return fmt::format("the RDMA device of {} failed ({}); see the system's log (dmesg)", port,
                     event);
}

}  // namespace heddle::verbs
