// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// Frames sent and received by the thread that asks, before a rank's own thread (tree_node.hpp)
// serves its links. A rank that cannot go on tells those that wait for it why (send_failure), and
// their receive_frame throws that.
#pragma once

#include <heddle/error.hpp>
#include <map>
#include <memory>
#include <optional>

#include "bootstrap/byte_stream.hpp"
#include "bootstrap/frame_link.hpp"
#include "support/deadline.hpp"

namespace heddle {

/// The type of send_failure's frame: 32 bits of status, a text.
constexpr std::uint16_t failure_frame = 0xffff;

/// A status as another rank wrote it. Throws malformed_message for what is none.
heddle_status_t read_status(byte_reader& in);

/// Sends a frame to a rank. Throws HEDDLE_ERROR_TIMEOUT if it does not take it in time.
void send_frame(frame_link& link, int rank, frame news, deadline until);

/// The frame itself if it is of that type. Throws what a failure tells, and malformed_message for
/// any other.
const frame& expect_type(const frame& got, std::uint16_t type);

/// The next frame from a rank, which must be of that type; what comes after it stays in the link.
/// Throws HEDDLE_ERROR_TIMEOUT, HEDDLE_ERROR_PEER_LOST, or the failure that the rank tells.
frame receive_frame(frame_link& link, int rank, std::uint16_t type, deadline until);

/// As receive_frame, but returns nothing at the deadline.
std::optional<frame> receive_frame_until(frame_link& link, int rank, std::uint16_t type,
                                         deadline until);

/// Tells the ranks, as far as their connections take it at once.
void send_failure(const std::map<int, std::unique_ptr<frame_link>>& links,
                  const error& failure) noexcept;

/// Until the other side ends its connection, or the deadline.
void wait_for_end(frame_link& link, deadline until);

}  // namespace heddle
