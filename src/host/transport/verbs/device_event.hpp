// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <string>

namespace heddle::verbs {

/// What an event of a device is to a PE that uses one of its ports.
enum class event_effect : std::uint8_t {
  none,
  port_down,
  port_up,
  connection_lost,  ///< that of the queue pair which the event names
  device_lost       ///< and every peer with it
};

/// `event_port` is looked at where the event is one of a port.
event_effect effect_of(ibv_event_type event, int event_port, int used_port);

/// Why the peers are lost that are reached by `port` ("mlx5_0:1"). `event` is the library's word.
std::string device_failure(const std::string& port, const std::string& event);

}  // namespace heddle::verbs
