// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include "host/transport/tcp/inbox.hpp"
#include "host/transport/tcp/outbox.hpp"
#include "support/unique_fd.hpp"

namespace heddle::tcp {

/// One lane to one peer: a connection, which either side makes.
///
///   idle ----> connecting ----> greeting ----> open ----> left     the peer has said goodbye
///     |                            |             ^
///     |                            v             |
///     |                         crossed ---------+                   the peer's own is taken
///     +------------------------------------------+                   the peer was first
///
/// refused: the peer takes no connection any more, and a lane that is open will tell why.
struct stream {
  enum class state : std::uint8_t {
    idle,
    refused,
    connecting,
    greeting,
    crossed,
    open,
    left,
    lost
  };

  stream(message_pool& pool, int pe, int lane) : pe(pe), lane(lane), out(pool) {}

  struct asked_read {
    std::byte* to;
    std::uint64_t size;
    std::uint64_t token;
  };

  const int pe;
  const int lane;
  state now = state::idle;
  unique_fd socket;
  outbox out;
  inbox in;
  std::deque<asked_read> reads;  ///< in the order of asking, which is that of the answers
  bool has_unsent = false;       ///< it is in the transport's list of those
  unsigned watched = 0;          ///< events that the poll set tells of its socket; 0: not in it
  bool is_blocked = false;       ///< the socket took nothing of what waits
  std::size_t tried = 0;         ///< of the peer's addresses
  bool was_refused = false;      ///< by the peer itself
  std::string refusal;           ///< what came of those
  /// Since when it has been blocked, or connecting.
  std::chrono::steady_clock::time_point stuck_since{};
};

}  // namespace heddle::tcp
