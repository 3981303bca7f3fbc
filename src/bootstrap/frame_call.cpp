// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/frame_call.hpp"

#include <poll.h>

#include "bootstrap/byte_stream.hpp"
#include "support/throw_error.hpp"

namespace heddle {
namespace {

/// Waits for the socket until the deadline, after which one more look at it is due; false when that
/// was taken. A socket that is always ready does not put the deadline off.
bool wait_for(const frame_link& link, short events, deadline until) {
  if (until.passed()) return false;
  pollfd entry{link.fd(), events, 0};
  ::poll(&entry, 1, until.poll_milliseconds());
  return true;
}

[[noreturn]] void throw_left(const frame_link& link, int rank) {
  throw_error(HEDDLE_ERROR_PEER_LOST, "rank {} left before all had met: {}", rank,
              link.problem().empty() ? "its connection ended" : link.problem());
}

[[noreturn]] void throw_told(const frame& told) {
  byte_reader in(told.payload());
  const auto status = read_status(in);
  const auto problem = in.text();
  if (status == HEDDLE_SUCCESS || problem.empty())
    throw malformed_message("a failure that says nothing");
  throw error(status, problem);
}

}  // namespace

heddle_status_t read_status(byte_reader& in) {
  const auto status = in.number<std::int32_t>();
  if (status < HEDDLE_SUCCESS || status > HEDDLE_ERROR_INTERNAL)
    throw malformed_message(fmt::format("status {}", status));
  return static_cast<heddle_status_t>(status);
}

void send_frame(frame_link& link, int rank, frame news, deadline until) {
  link.send(std::move(news));
  for (link.flush(); link.has_output(); link.flush()) {
    if (link.current() != frame_link::state::open) throw_left(link, rank);
    if (!wait_for(link, POLLOUT, until))
      throw_error(HEDDLE_ERROR_TIMEOUT, "rank {} does not take what it is sent at the start", rank);
  }
}

const frame& expect_type(const frame& got, std::uint16_t type) {
  if (got.type() == failure_frame) throw_told(got);
  if (got.type() != type) throw malformed_message(fmt::format("message type {}", got.type()));
  return got;
}

std::optional<frame> receive_frame_until(frame_link& link, int rank, std::uint16_t type,
                                         deadline until) try {
  for (;;) {
    if (const auto got = link.receive_one()) return expect_type(*got, type);
    if (link.current() != frame_link::state::open) throw_left(link, rank);
    if (!wait_for(link, POLLIN, until)) return std::nullopt;
  }
} catch (const malformed_message& problem) {
  throw_error(HEDDLE_ERROR_SYSTEM, "rank {} sent what this rank does not understand: {}", rank,
              problem.what());
}

frame receive_frame(frame_link& link, int rank, std::uint16_t type, deadline until) {
  if (auto got = receive_frame_until(link, rank, type, until)) return *std::move(got);
  throw_error(HEDDLE_ERROR_TIMEOUT, "rank {} has been silent until the deadline of the start",
              rank);
}

void send_failure(const std::map<int, std::unique_ptr<frame_link>>& links,
                  const error& failure) noexcept try {
  byte_writer out;
  out.number(static_cast<std::int32_t>(failure.status())).text(failure.what());
  const frame news(failure_frame, out.bytes());
  for (const auto& [rank, link] : links) {
    link->send(news);
    link->flush();
  }
} catch (...) {
  // Out of memory while telling: they see the connection end.
}

void wait_for_end(frame_link& link, deadline until) {
  link.shut_down();
  while (link.current() == frame_link::state::open && wait_for(link, POLLIN, until))
    link.receive([](const frame&) {});
}

}  // namespace heddle
