// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// How lanes are joined: hellos, sent and taken (hello.hpp).

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "host/transport/verbs/rc_transport.hpp"
#include "support/log.hpp"
#include "support/throw_error.hpp"

namespace heddle::verbs {
namespace {

constexpr auto longest_repeat = std::chrono::seconds(1);

}  // namespace

connection* rc_transport::open(int lane, int pe) {
  const auto& theirs = peer_of(pe).address;
  if (!peer_of(pe).why_no_address.empty()) {
    lose(pe, peer_of(pe).why_no_address);
    return nullptr;
  }
  const bool is_low = address_.id <= theirs.id;
  const auto pair = is_low ? rails_of(address_, theirs, lane) : rails_of(theirs, address_, lane);
  if (pair.low < 0) {
    lose(pe, fmt::format("no port of {} reaches one of {}: one is InfiniBand, the other Ethernet",
                         text_of(address_), text_of(theirs)));
    return nullptr;
  }
  connection::route route{pe, lane, static_cast<std::size_t>(is_low ? pair.low : pair.high),
                          static_cast<std::size_t>(is_low ? pair.high : pair.low)};
  const auto index = index_of(lane, pe);
  try {
    connections_[index] =
        std::make_unique<connection>(*rails_[route.local_rail], theirs.rails[route.remote_rail],
                                     options_, route, static_cast<std::uint32_t>(index));
  } catch (const error& problem) {
    lose(pe, problem.what());
    return nullptr;
  }
  return connections_[index].get();
}

void rc_transport::send_hello(connection& to, bool is_answer) {
  auto* path = to.path();
  if (!path) {
    lose(to.pe(),
         fmt::format("{} finds no way to {}: {}; can its address be pinged from this host?",
                     to.local().port().name(), text_of(to.remote().value),
                     std::generic_category().message(errno)));
    return;
  }
  hello message;
  message.is_answer = is_answer;
  message.from = address_.id;
  message.to = peer_of(to.pe()).address.id;
  message.lane = to.lane();
  message.queue = to.queue();
  message.first = to.first_packet();
  message.joined = to.joined_queue();
  to.local().send_hello(path, to.remote().datagram_queue, peer_of(to.pe()).address.queue_key,
                        encode(message, options_.job_token));
}

void rc_transport::take_hello(const hello& message) {
  const auto sender = pe_of_id_.find(message.from);
  if (message.to != address_.id || sender == pe_of_id_.end() || message.lane < 0 ||
      message.lane >= options_.lanes)
    return;
  const int from = sender->second;
  if (is_gone(from)) return;
  auto* known = connections_[index_of(message.lane, from)].get();
  if (!known) known = open(message.lane, from);
  if (!known) return;
  const bool joins = known->joined_queue() == 0;
  if (joins) {
    const auto problem = known->join(message.queue, message.first);
    if (!problem.empty()) return lose(from, problem);
  } else if (known->joined_queue() != message.queue) {
    return;
  }
  if (message.joined == known->queue() && known->state() == connection::phase::opening) {
    known->establish();
    log::trace(log::subsystem::transport, "lane {} to PE {} goes by {} to {}", message.lane, from,
               known->local().port().name(), text_of(known->remote().value));
  }
  if (!message.is_answer || joins) send_hello(*known, true);
}

void rc_transport::repeat_hellos(clock::time_point now) {
  for (auto* opening : opening_) {
    auto& one = *opening;
    if (one.state() != connection::phase::opening || now < one.repeat_at) continue;
    if (now >= one.give_up_at) {
      lose(one.pe(),
           fmt::format("it did not answer within {:g} s, from {} to {}: its process has ended or "
                       "hangs, or the network between them carries no RDMA (RoCE: UDP port 4791)",
                       options_.connect_timeout.count(), one.local().port().name(),
                       text_of(one.remote().value)));
      continue;
    }
    one.repeat_at = std::min(now + one.repeat_after, one.give_up_at);
    one.repeat_after = std::min<clock::duration>(2 * one.repeat_after, longest_repeat);
    send_hello(one, false);
  }
  std::erase_if(opening_,
                [](const connection* one) { return one->state() != connection::phase::opening; });
}

rc_transport::clock::time_point rc_transport::next_repeat() const {
  auto next = clock::time_point::max();
  for (const auto* one : opening_)
    if (one->state() == connection::phase::opening) next = std::min(next, one->repeat_at);
  return next;
}

}  // namespace heddle::verbs
