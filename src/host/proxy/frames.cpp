// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// The command engine's frames: filling, sending and acknowledging them.

#include "host/proxy/command_engine.hpp"

namespace heddle {

void command_engine::meet(std::unique_ptr<peer_state>& peer) const {
  peer = std::make_unique<peer_state>();
  peer->lanes.assign(static_cast<std::size_t>(options_.lanes), lane_state(options_.first_number));
}

bool command_engine::open_frame(int pe, int lane_index) {
  lane_state& state = lane(pe, lane_index);
  if (!state.open.empty()) return true;
  if (state.frames_in_flight() >= lane_state::window) return false;
  state.open = network_.begin_message(lane_index, pe);
  if (state.open.empty()) return refused();
  state.used = sizeof(frame_header);
  state.open_wants_acknowledgement = false;
  open_frames_.push_back({pe, lane_index});
  return true;
}

std::byte* command_engine::append(int pe, int lane_index, const record_header& header) {
  lane_state& state = lane(pe, lane_index);
  const std::size_t bytes = record_bytes(header.data_bytes);
  if (!state.open.empty() && state.used + bytes > about_.most_message_bytes) {
    if (!writes_allow_frame(state)) return nullptr;
    close_frame(pe, lane_index);
  }
  if (!open_frame(pe, lane_index)) return nullptr;
  std::byte* at = state.open.data() + state.used;
  std::memcpy(at, &header, sizeof header);
  state.used += bytes;
  state.open_after = state.writes.posted();
  return at + sizeof header;
}

bool command_engine::append(int pe, int lane_index, const record_header& header,
                            std::span<const std::byte> data) {
  std::byte* at = append(pe, lane_index, header);
  if (at && !data.empty()) std::memcpy(at, data.data(), data.size());
  return at != nullptr;
}

void command_engine::append_or_keep(int pe, int lane_index, const record_header& header,
                                    std::span<const std::byte> data) {
  if (late_records_.contains({pe, lane_index}) || !append(pe, lane_index, header, data))
    late_records_[{pe, lane_index}].push_back({header, {data.begin(), data.end()}});
}

/// A network that promises nothing of messages and writes: the frame waits for the writes before
/// its last record.
bool command_engine::writes_allow_frame(const lane_state& state) const {
  return about_.order != transport::message_order::after_completions ||
         state.writes.done() >= state.open_after;
}

void command_engine::send_open_frame(int pe, int lane_index) {
  lane_state& state = lane(pe, lane_index);
  const frame_header header = {.job = options_.job,
                               .from = static_cast<std::uint32_t>(options_.my_pe),
                               .lane = static_cast<std::uint32_t>(lane_index),
                               .sequence = static_cast<std::uint32_t>(++state.frames_sent),
                               .acknowledged = state.frames_handled,
                               .after_writes = static_cast<std::uint32_t>(state.writes_sent),
                               .has_records = 1,
                               .wants_acknowledgement = state.open_wants_acknowledgement};
  std::memcpy(state.open.data(), &header, sizeof header);
  // Where nothing orders writes and messages the frame may be there before those under way.
  const std::uint64_t under_way = about_.order == transport::message_order::after_completions
                                      ? state.writes.posted() - state.writes.done()
                                      : 0;
  state.writes_flushed = state.writes_sent - under_way;
  state.writes_before[state.frames_sent % lane_state::window] = state.writes_flushed;
  state.frames_told = state.frames_handled;
  if (state.open_wants_acknowledgement) state.acknowledgement_asked = state.frames_sent;
  network_.post_message(lane_index, pe, state.open, state.used);
  state.open = {};
  happened_ = true;
}

/// Sends it before its time.
void command_engine::close_frame(int pe, int lane_index) {
  send_open_frame(pe, lane_index);
  std::erase_if(open_frames_,
                [&](const lane_name& name) { return name.pe == pe && name.lane == lane_index; });
}

void command_engine::send_open_frames() {
  if (open_frames_.empty()) return;
  std::erase_if(open_frames_, [&](const lane_name& name) {
    if (!writes_allow_frame(lane(name.pe, name.lane))) return false;
    send_open_frame(name.pe, name.lane);
    return true;
  });
}

/// Asks the peer to say when all that was sent to it is carried out.
void command_engine::ask_for_acknowledgement(int pe, int lane_index) {
  lane_state& state = lane(pe, lane_index);
  const bool unflushed = state.writes_sent != state.writes_flushed;
  const bool asked = state.acknowledgement_asked == state.frames_sent;
  if (state.open.empty() && !unflushed && (asked || state.frames_in_flight() == 0)) return;
  if (open_frame(pe, lane_index)) {
    state.open_wants_acknowledgement = true;
    state.open_after = state.writes.posted();
  }
}

/// Tells the peer which of its frames are carried out, unless a frame that is open will say so.
void command_engine::acknowledge(int pe, int lane_index) {
  lane_state& state = lane(pe, lane_index);
  if (peers_[static_cast<std::size_t>(pe)]->has_left) return;
  if (!state.open.empty()) return;
  const auto message = network_.begin_message(lane_index, pe);
  if (message.empty()) {
    late_acks_.push_back({pe, lane_index});
    (void)refused();
    return;
  }
  const frame_header header = {.job = options_.job,
                               .from = static_cast<std::uint32_t>(options_.my_pe),
                               .lane = static_cast<std::uint32_t>(lane_index),
                               .sequence = 0,
                               .acknowledged = state.frames_handled,
                               .after_writes = 0,
                               .has_records = 0,
                               .wants_acknowledgement = 0};
  std::memcpy(message.data(), &header, sizeof header);
  state.frames_told = state.frames_handled;
  network_.post_message(lane_index, pe, message, sizeof header);
  happened_ = true;
}

/// What could not be sent before.
void command_engine::send_late() {
  for (auto left = late_acks_.size(); left > 0; --left) {
    const auto name = late_acks_.front();
    late_acks_.pop_front();
    acknowledge(name.pe, name.lane);
  }
  for (auto each = late_records_.begin(); each != late_records_.end();) {
    auto& [to, late] = *each;
    while (!late.empty() && append(to.first, to.second, late.front().header, late.front().data))
      late.pop_front();
    each = late.empty() ? late_records_.erase(each) : std::next(each);
  }
}

bool command_engine::progress() {
  happened_ = false;
  send_open_frames();
  const bool moved = network_.progress(*this);
  if (!late_acks_.empty() || !late_records_.empty()) send_late();
  send_open_frames();
  return moved || happened_;
}

}  // namespace heddle
