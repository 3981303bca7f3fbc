// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// The command engine and the order of commands: fence, quiet, and what they are about.

#include "host/proxy/command_engine.hpp"

namespace heddle {

/// What has been posted to that lane is what the next quiet is about.
void command_engine::heed(int pe, int lane_index) {
  lane_state& state = lane(pe, lane_index);
  state.heeded_frame = state.frames_sent + (state.open.empty() ? 0 : 1);
  state.heeded_writes = tracks_writes_ ? state.writes.posted() : state.writes_sent;
  if (state.is_dirty) return;
  state.is_dirty = true;
  dirty_[static_cast<std::size_t>(lane_index)].push_back(pe);
}

/// A write or atomic of the network overtakes records, unless that is promised not to be, and
/// nothing is promised of two of them: after a fence they wait for all that is before it.
bool command_engine::fence_allows(int pe, int lane_index) {
  lane_state& state = lane(pe, lane_index);
  if (about_.is_ordered) {
    // What follows then goes behind the records before the fence.
    if (state.fence_frames > state.frames_sent && !state.open.empty()) close_frame(pe, lane_index);
    return true;
  }
  const bool frames = state.fence_frames <= state.frames_acknowledged;
  const bool writes =
      state.fence_writes <= (tracks_writes_ ? state.writes.done() : state.writes_acknowledged);
  if (frames && writes) return true;
  if (!frames || !tracks_writes_) ask_for_acknowledgement(pe, lane_index);
  return false;
}

bool command_engine::fence(const active_command& command) {
  // Messages follow writes, but not atomics.
  if (uses_atomics_)
    for (const int pe : dirty_[static_cast<std::size_t>(command.lane)]) {
      const peer_state& peer = *peers_[static_cast<std::size_t>(pe)];
      if (peer.is_lost || lane(pe, command.lane).reads_outstanding == 0) continue;
      if (peer.has_left) miss(pe);
      return false;
    }
  for (const int pe : dirty_[static_cast<std::size_t>(command.lane)]) {
    if (peers_[static_cast<std::size_t>(pe)]->is_lost) continue;
    lane_state& state = lane(pe, command.lane);
    state.fence_frames = state.heeded_frame;
    state.fence_writes = state.heeded_writes;
  }
  return true;
}

bool command_engine::is_carried_out(const lane_state& state) const {
  return state.heeded_frame <= state.frames_acknowledged &&
         state.device_writes <= state.writes_acknowledged &&
         (tracks_writes_ || state.heeded_writes <= state.writes_acknowledged);
}

bool command_engine::is_complete(const lane_state& state) const {
  return is_carried_out(state) && state.reads_outstanding == 0 &&
         (!tracks_writes_ || state.heeded_writes <= state.writes.done());
}

bool command_engine::is_quiet(int pe, int lane_index, lane_state& state) {
  const peer_state& peer = *peers_[static_cast<std::size_t>(pe)];
  if (peer.is_lost || is_complete(state)) return true;
  if (peer.has_left)
    miss(pe);
  else if (!is_carried_out(state))
    ask_for_acknowledgement(pe, lane_index);
  return false;
}

bool command_engine::quiet(active_command& command) {
  auto& dirty = dirty_[static_cast<std::size_t>(command.lane)];
  std::erase_if(dirty, [&](int pe) {
    lane_state& state = lane(pe, command.lane);
    if (!is_quiet(pe, command.lane, state)) return false;
    state.is_dirty = false;
    return true;
  });
  if (!dirty.empty()) return false;
  reply_without(command, lost_in_[static_cast<std::size_t>(command.lane)]);
  return true;
}

}  // namespace heddle
