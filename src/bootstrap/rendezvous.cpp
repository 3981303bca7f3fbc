// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "bootstrap/rendezvous.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "bootstrap/byte_stream.hpp"
#include "bootstrap/frame_call.hpp"
#include "bootstrap/meeting.hpp"
#include "support/throw_error.hpp"

namespace heddle {
namespace {

enum : std::uint16_t { introduction = 1, place = 2, gave_up = 3 };

/// How long past its deadline a rank waits for rank 0's word on who is absent.
constexpr std::chrono::seconds last_word_time(1);

/// Every rank's endpoint, as it introduces itself.
std::vector<endpoint> take_introductions(meeting& met, int size, const endpoint& mine,
                                         deadline until) {
  // An introduction may come while other ranks are still awaited.
  std::map<int, frame> introductions;
  met.on_readable([&](int rank, frame_link& link) {
    link.receive([&](frame arrived) {
      if (arrived.type() == gave_up && !met.missing().empty())
        met.time_out(fmt::format("the deadline of rank {}", rank));
      introductions.emplace(rank, std::move(arrived));
    });
  });
  met.run(until);

  std::vector<endpoint> all(static_cast<std::size_t>(size));
  all[0] = mine;
  for (auto& [rank, link] : met.links()) {
    const auto early = introductions.find(rank);
    const frame said = early != introductions.end()
                           ? early->second
                           : receive_frame(*link, rank, introduction, until);
    try {
      byte_reader in(expect_type(said, introduction).payload());
      all[static_cast<std::size_t>(rank)] = endpoint::read(in);
    } catch (const malformed_message& problem) {
      throw_error(HEDDLE_ERROR_SYSTEM,
                  "rank {} introduced itself with {} bytes that are no endpoint: {}", rank,
                  said.payload().size(), problem.what());
    }
  }
  return all;
}

tree_shape shape_of(const std::vector<endpoint>& table) {
  std::vector<std::string> hosts;
  for (const auto& each : table) hosts.push_back(each.host);
  return {hosts, tree_shape::usual_fan_out};
}

meeting::request to_meet(const rendezvous_request& request) {
  meeting::request wanted;
  wanted.purpose = link_purpose::rendezvous;
  wanted.rank = request.rank;
  wanted.size = request.size;
  wanted.secret = request.secret;
  return wanted;
}

rendezvous_result gather_and_tell(const rendezvous_request& request, const endpoint& mine,
                                  deadline until) {
  auto wanted = to_meet(request);
  wanted.listeners = request.listeners;
  for (int rank = 1; rank < request.size; ++rank) wanted.expected.push_back(rank);
  meeting met(std::move(wanted));
  try {
    rendezvous_result result;
    result.table = take_introductions(met, request.size, mine, until);
    const auto shape = shape_of(result.table);
    result.place = tree_place::in(shape, result.table, 0);
    for (auto& [rank, link] : met.links()) {
      byte_writer out;
      tree_place::in(shape, result.table, rank).write(out);
      send_frame(*link, rank, frame(place, out.bytes()), until);
    }
    // A rank closes when it has its place; ending before that could take it away from it.
    for (auto& [rank, link] : met.links()) wait_for_end(*link, until);
    return result;
  } catch (const error& failure) {
    send_failure(met.links(), failure);
    throw;
  }
}

/// What rank 0 says. It alone knows who is absent, and starts to wait at another time: at the
/// deadline it is asked to end the start, which tells every rank.
frame receive_place(frame_link& link, deadline until) {
  if (auto told = receive_frame_until(link, 0, place, until)) return *std::move(told);
  const auto answered = deadline::after(last_word_time);
  send_frame(link, 0, frame(gave_up, {}), answered);
  return receive_frame(link, 0, place, answered);
}

rendezvous_result introduce_and_learn(const rendezvous_request& request, const endpoint& mine,
                                      deadline until) {
  auto wanted = to_meet(request);
  wanted.callee = 0;
  wanted.at = request.at;
  wanted.callee_may_be_late = true;
  meeting met(std::move(wanted));
  met.run(until);
  auto& link = *met.links().at(0);
  byte_writer out;
  mine.write(out);
  send_frame(link, 0, frame(introduction, out.bytes()), until);
  const frame told = receive_place(link, until);
  try {
    byte_reader in(told.payload());
    return {tree_place::read(in, request.size), {}};
  } catch (const malformed_message& problem) {
    throw_error(HEDDLE_ERROR_SYSTEM, "rank 0 sent {} bytes that are no place in the tree: {}",
                told.payload().size(), problem.what());
  }
}

}  // namespace

rendezvous_result meet_all(const rendezvous_request& request, const endpoint& mine,
                           deadline until) {
  return request.rank == 0 ? gather_and_tell(request, mine, until)
                           : introduce_and_learn(request, mine, until);
}

}  // namespace heddle
