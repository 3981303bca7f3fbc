// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// The command engine and peers that are no more: lost, or gone in order.

#include <algorithm>

#include "host/proxy/command_engine.hpp"
#include "support/throw_error.hpp"

namespace heddle {

void command_engine::on_failure(int pe, const std::string& reason) { on_failure_(pe, reason); }

void command_engine::on_left(int pe) {
  (void)lane(pe, 0);
  peers_[static_cast<std::size_t>(pe)]->has_left = true;
  happened_ = true;
  is_awaited(pe) ? miss(pe) : release(pe);
}

bool command_engine::is_awaited(int pe) {
  bool awaited = false;
  operations_.for_each(
      [&](std::uint64_t, const operation& what) { awaited |= what.wants_reply && what.pe == pe; });
  const peer_state& peer = *peers_[static_cast<std::size_t>(pe)];
  for (const lane_state& lane : peer.lanes) awaited |= lane.is_dirty && !is_complete(lane);
  return awaited;
}

void command_engine::miss(int pe) {
  on_failure_(pe, fmt::format("PE {} ({}) has left the job, and this PE has not ended with it", pe,
                              network_.describe(pe)));
}

void command_engine::release(int pe) {
  peer_state& peer = *peers_[static_cast<std::size_t>(pe)];
  for (int i = 0; i < options_.lanes; ++i) {
    lane_state& state = peer.lanes[static_cast<std::size_t>(i)];
    if (!state.open.empty()) network_.post_message(i, pe, state.open, 0);
    state.open = {};
    state.held.clear();
  }
  std::erase_if(open_frames_, [&](const lane_name& name) { return name.pe == pe; });
  std::erase_if(late_records_, [&](const auto& late) { return late.first.first == pe; });
  std::erase_if(late_acks_, [&](const lane_name& name) { return name.pe == pe; });
  parts_.for_each([&](std::uint64_t which, const part& lost) {
    if (lost.pe != pe) return;
    if (lost.chunk >= 0) {
      if (about_.ends_what_is_dropped)
        staging_.give_back(lost.chunk);
      else
        staging_.abandon();
    }
    parts_.remove(which);
  });
}

void command_engine::drop_peer(int pe) {
  if (pe < 0) {
    all_are_lost_ = true;
    for (std::size_t i = 0; i < peers_.size(); ++i)
      if (peers_[i]) drop_peer(static_cast<int>(i));
    return;
  }
  (void)lane(pe, 0);
  peer_state& peer = *peers_[static_cast<std::size_t>(pe)];
  if (peer.is_lost) return;
  peer.is_lost = true;
  for (std::size_t i = 0; i < peer.lanes.size(); ++i)
    if (peer.lanes[i].is_dirty && !is_complete(peer.lanes[i])) lost_in_[i] = pe;
  network_.drop(pe);
  release(pe);
  std::vector<std::uint64_t> gone;
  operations_.for_each([&](std::uint64_t which, const operation& what) {
    if (what.pe == pe) gone.push_back(which);
  });
  for (const auto which : gone) {
    const operation what = *operations_.find(which);
    operations_.remove(which);
    if (what.wants_reply && what.all_posted) what.from->reply(what.index, 0, pe);
  }
}

}  // namespace heddle
