// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "bootstrap/rendezvous.hpp"

#include <poll.h>

#include <map>
#include <optional>

#include "bootstrap/meeting.hpp"
#include "bootstrap/rank_list.hpp"
#include "support/throw_error.hpp"

namespace heddle {
namespace {

enum : std::uint16_t { introduction = 1, table = 2 };

/// Waits for the socket; false when the deadline has passed.
bool wait_for(const frame_link& link, short events, deadline until) {
  pollfd entry{link.fd(), events, 0};
  return ::poll(&entry, 1, until.poll_milliseconds()) > 0 || !until.passed();
}

void send_all(frame_link& link, int rank, deadline until) {
  for (link.flush(); link.has_output(); link.flush())
    if (link.current() != frame_link::state::open || !wait_for(link, POLLOUT, until))
      throw_error(HEDDLE_ERROR_TIMEOUT, "rank {} does not take what the rendezvous sends it", rank);
}

/// The next frame of that type from a rank.
frame receive_one(frame_link& link, int rank, std::uint16_t type, deadline until) {
  std::optional<frame> got;
  for (;;) {
    link.receive([&](frame arrived) {
      if (!got && arrived.type() == type) got = std::move(arrived);
    });
    if (got) return *got;
    if (link.current() != frame_link::state::open)
      throw_error(HEDDLE_ERROR_PEER_LOST, "rank {} left during the rendezvous: {}", rank,
                  link.problem().empty() ? "its connection ended" : link.problem());
    if (!wait_for(link, POLLIN, until))
      throw_error(HEDDLE_ERROR_TIMEOUT,
                  "rank {} has been silent in the rendezvous until the deadline", rank);
  }
}

std::vector<endpoint> gather_and_tell(const rendezvous_request& request, const endpoint& mine,
                                      deadline until) {
  meeting::request wanted;
  wanted.purpose = link_purpose::rendezvous;
  wanted.size = request.size;
  wanted.secret = request.secret;
  wanted.listeners = request.listeners;
  for (int rank = 1; rank < request.size; ++rank) wanted.expected.push_back(rank);
  meeting met(std::move(wanted));
  // An introduction may come while other ranks are still awaited.
  std::map<int, frame> introductions;
  met.on_readable([&](int rank, frame_link& link) {
    link.receive([&](frame arrived) { introductions.emplace(rank, std::move(arrived)); });
  });
  met.run(until);

  std::vector<endpoint> all(static_cast<std::size_t>(request.size));
  all[0] = mine;
  for (auto& [rank, link] : met.links()) {
    const auto early = introductions.find(rank);
    const frame said = early != introductions.end() ? early->second
                                                    : receive_one(*link, rank, introduction, until);
    try {
      byte_reader in(said.payload());
      all[static_cast<std::size_t>(rank)] = endpoint::read(in);
    } catch (const malformed_message& problem) {
      throw_error(HEDDLE_ERROR_SYSTEM,
                  "rank {} introduced itself with {} bytes that are no endpoint: {}", rank,
                  said.payload().size(), problem.what());
    }
  }
  byte_writer out;
  for (const auto& each : all) each.write(out);
  const frame told(table, out.bytes());
  for (auto& [rank, link] : met.links()) link->send(told);
  for (auto& [rank, link] : met.links()) {
    send_all(*link, rank, until);
    link->shut_down();
  }
  // A rank closes when it has the table; ending before that could take it away from it.
  for (auto& [rank, link] : met.links())
    while (link->current() == frame_link::state::open && wait_for(*link, POLLIN, until))
      link->receive([](const frame&) {});
  return all;
}

std::vector<endpoint> introduce_and_learn(const rendezvous_request& request, const endpoint& mine,
                                          deadline until) {
  meeting::request wanted;
  wanted.purpose = link_purpose::rendezvous;
  wanted.rank = request.rank;
  wanted.size = request.size;
  wanted.secret = request.secret;
  wanted.callee = 0;
  wanted.at = request.at;
  wanted.callee_may_be_late = true;
  meeting met(std::move(wanted));
  met.run(until);
  auto& link = *met.links().at(0);
  byte_writer out;
  mine.write(out);
  link.send(frame(introduction, out.bytes()));
  send_all(link, 0, until);
  const frame told = receive_one(link, 0, table, until);
  std::vector<endpoint> all;
  try {
    byte_reader in(told.payload());
    for (int rank = 0; rank < request.size; ++rank) all.push_back(endpoint::read(in));
  } catch (const malformed_message& problem) {
    throw_error(HEDDLE_ERROR_SYSTEM, "rank 0 sent a table of {} bytes that is none: {}",
                told.payload().size(), problem.what());
  }
  return all;
}

}  // namespace

std::vector<endpoint> meet_all(const rendezvous_request& request, const endpoint& mine,
                               deadline until) {
  return request.rank == 0 ? gather_and_tell(request, mine, until)
                           : introduce_and_learn(request, mine, until);
}

}  // namespace heddle
