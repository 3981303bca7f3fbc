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

bool command_engine::fence(active_command& command) {
  // Messages follow writes, but not atomics.
  if (uses_atomics_) {
    mark(command);
    std::erase_if(command.marks, [&](const quiet_mark& mark) {
      const peer_state& peer = *peers_[static_cast<std::size_t>(mark.pe)];
      const bool is_there = peer.is_lost || mark.reads <= lane(mark.pe, command.lane).reads.done();
      if (!is_there && peer.has_left) miss(mark.pe);
      return is_there;
    });
    if (!command.marks.empty()) return false;
    unmark(command);
  }
  for (const int pe : dirty_[static_cast<std::size_t>(command.lane)]) {
    if (peers_[static_cast<std::size_t>(pe)]->is_lost) continue;
    lane_state& state = lane(pe, command.lane);
    state.fence_frames = state.heeded_frame;
    state.fence_writes = state.heeded_writes;
  }
  return true;
}

command_engine::quiet_mark command_engine::mark_of(int pe, const lane_state& state) {
  return {.pe = pe,
          .frame = state.heeded_frame,
          .writes = state.heeded_writes,
          .device_writes = state.device_writes,
          .reads = state.reads.posted()};
}

void command_engine::mark(active_command& command) {
  if (!command.marks.empty()) return;
  if (command.what.flags & command::everything) heed_everything(command.lane);
  for (const int pe : dirty_[static_cast<std::size_t>(command.lane)])
    command.marks.push_back(mark_of(pe, lane(pe, command.lane)));
  marked_.push_back(&command);
}

/// Nobody waits for what those that are lost, or have left, are sent.
void command_engine::heed_everything(int lane_index) {
  for (int pe = 0; pe < options_.n_pes; ++pe) {
    const auto& peer = peers_[static_cast<std::size_t>(pe)];
    if (peer && !peer->is_lost && !peer->has_left) heed(pe, lane_index);
  }
}

void command_engine::unmark(const active_command& command) {
  std::erase(marked_, &command);
  if (command.marks.empty()) return;
  std::erase_if(given_up_, [&](const given_up_mark& before) {
    return is_complete(lane(before.mark.pe, before.lane), before.mark);
  });
  for (const auto& mark : command.marks) given_up_.push_back({command.lane, mark});
}

bool command_engine::is_carried_out(const lane_state& state, const quiet_mark& mark) const {
  return mark.frame <= state.frames_acknowledged &&
         mark.device_writes <= state.writes_acknowledged &&
         (tracks_writes_ || mark.writes <= state.writes_acknowledged);
}

bool command_engine::is_complete(const lane_state& state, const quiet_mark& mark) const {
  return is_carried_out(state, mark) && mark.reads <= state.reads.done() &&
         (!tracks_writes_ || mark.writes <= state.writes.done());
}

bool command_engine::is_reached(int lane_index, const quiet_mark& mark) {
  const peer_state& peer = *peers_[static_cast<std::size_t>(mark.pe)];
  lane_state& state = lane(mark.pe, lane_index);
  if (peer.is_lost || is_complete(state, mark)) return true;
  if (peer.has_left)
    miss(mark.pe);
  else if (!is_carried_out(state, mark))
    ask_for_acknowledgement(mark.pe, lane_index);
  return false;
}

/// It waits for what was posted before it, however much another queue of its context posts
/// meanwhile. What of that is not done keeps its peer in the list, for the next.
bool command_engine::quiet(active_command& command) {
  auto& dirty = dirty_[static_cast<std::size_t>(command.lane)];
  mark(command);
  std::erase_if(command.marks,
                [&](const quiet_mark& mark) { return is_reached(command.lane, mark); });
  if (!command.marks.empty()) return false;
  unmark(command);
  std::erase_if(dirty, [&](int pe) {
    lane_state& state = lane(pe, command.lane);
    if (!peers_[static_cast<std::size_t>(pe)]->is_lost && !is_complete(state)) return false;
    state.is_dirty = false;
    return true;
  });
  reply_without(command, lost_in_[static_cast<std::size_t>(command.lane)]);
  return true;
}

}  // namespace heddle
