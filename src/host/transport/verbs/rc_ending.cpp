// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// How peers end: in order, with a goodbye on each of their lanes, or without a word, which shows
// when something is sent to them.
//
//     leaves                                          stays
//     ------                                          -----
//     its last operations, then on each lane
//     an empty message, immediate: how many  ------>  that many have come: on_left, lanes ended
//     until the cards of the others have them
//     queue pairs destroyed

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>

#include "host/transport/verbs/rc_transport.hpp"
#include "support/log.hpp"

namespace heddle::verbs {
namespace {

constexpr auto longest_goodbye = std::chrono::milliseconds(500);
constexpr auto probe_every = std::chrono::seconds(2);
/// Peers that are probed at a time: a job of many is probed in turns.
constexpr int probes_at_once = 64;

bool is_open(const std::unique_ptr<connection>& one) {
  return one && one->state() == connection::phase::established;
}

}  // namespace

void rc_transport::leave() {
  nobody ignores;
  const auto until = clock::now() + longest_goodbye;
  const auto wait_for = [&](const auto& done) {
    while (!done() && clock::now() < until) progress(ignores);
  };
  for (std::size_t pe = 0; pe < peers_.size(); ++pe) {
    const auto lanes = lanes_of(static_cast<int>(pe));
    const auto count =
        static_cast<std::uint32_t>(std::count_if(lanes.begin(), lanes.end(), is_open));
    for (auto& lane : lanes) {
      if (!is_open(lane)) continue;
      wait_for([&] { return !is_open(lane) || lane->room() > 0; });
      if (!is_open(lane) || lane->room() == 0) continue;
      auto& work = add(*lane, {.is_signaled = true});
      work.opcode = IBV_WR_SEND_WITH_IMM;
      work.imm_data = htonl(count);
    }
  }
  wait_for([&] {
    return std::all_of(connections_.begin(), connections_.end(),
                       [](auto& one) { return !is_open(one) || one->is_idle(); });
  });
}

void rc_transport::take_goodbye(const rail& from, const ibv_wc& completion) {
  const auto lane = std::find_if(connections_.begin(), connections_.end(), [&](auto& one) {
    return one && &one->local() == &from && one->queue() == completion.qp_num;
  });
  if (lane == connections_.end()) return;
  const int pe = (*lane)->pe();
  peer& leaves = peer_of(pe);
  if (++leaves.goodbyes < ntohl(completion.imm_data) || is_gone(pe)) return;
  leaves.has_left = true;
  log::trace(log::subsystem::transport, "PE {} has left", pe);
  endings_.left(pe);
  end_lanes(pe);
}

/// Whoever waits for a peer has often nothing under way to it, and hears nothing of its death.
void rc_transport::probe_peers(clock::time_point now) {
  if (now < probe_at_) return;
  probe_at_ = now + probe_every;
  int probes = 0;
  for (std::size_t i = 0; i < peers_.size() && probes < probes_at_once; ++i) {
    next_probed_ = (next_probed_ + 1) % peers_.size();
    const auto lanes = lanes_of(static_cast<int>(next_probed_));
    const auto lane = std::find_if(lanes.begin(), lanes.end(), is_open);
    if (lane == lanes.end() || (*lane)->room() == 0 ||
        std::any_of(lanes.begin(), lanes.end(),
                    [](auto& one) { return one && one->awaits_card(); }))
      continue;
    // A write of no bytes is carried out nowhere, and acknowledged all the same.
    auto& work = add(**lane, {.is_signaled = true});
    work.opcode = IBV_WR_RDMA_WRITE;
    ++probes;
  }
}

void rc_transport::lose(int pe, const std::string& reason) {
  if (is_gone(pe)) return;
  peer_of(pe).lost = true;
  log::info(log::subsystem::transport, "PE {} is lost: {}", pe, reason);
  endings_.lost(pe, fmt::format("PE {} cannot be reached: {}", pe, reason));
  end_lanes(pe);
}

void rc_transport::drop(int pe) {
  if (is_gone(pe)) return;
  peer_of(pe).lost = true;
  end_lanes(pe);
}

void rc_transport::lose_all(const std::string& reason) {
  if (lost_all_) return;
  lost_all_ = true;
  endings_.lost(-1, reason);
  for (const auto& one : connections_)
    if (one) one->lose();
}

std::span<std::unique_ptr<connection>> rc_transport::lanes_of(int pe) {
  return {&connections_[index_of(0, pe)], static_cast<std::size_t>(options_.lanes)};
}

void rc_transport::end_lanes(int pe) {
  for (const auto& one : lanes_of(pe))
    if (one) one->lose();
}

}  // namespace heddle::verbs
