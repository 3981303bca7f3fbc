// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// The command engine as receiver: what other proxies ask for, and what the network tells. Whoever
// reaches this PE's address can send: nothing in a frame is believed before it was checked.

#include <algorithm>
#include <set>

#include "host/proxy/command_engine.hpp"
#include "support/log.hpp"
#include "support/throw_error.hpp"

namespace heddle {

void command_engine::on_message(std::span<const std::byte> message) {
  frame_header header;
  if (message.size() < sizeof header) return;
  std::memcpy(&header, message.data(), sizeof header);
  if (header.job != options_.job || header.from >= peers_.size() ||
      header.lane >= static_cast<std::uint32_t>(options_.lanes)) {
    // Once: who can send can send many.
    if (!std::exchange(was_warned_, true))
      log::warn(log::subsystem::transport, "a message of {} bytes from a stranger was dropped",
                message.size());
    return;
  }
  const int from = static_cast<int>(header.from);
  const int index = static_cast<int>(header.lane);
  lane_state& state = lane(from, index);
  if (peers_[header.from]->is_lost) return;
  const std::uint32_t newly =
      header.acknowledged - static_cast<std::uint32_t>(state.frames_acknowledged);
  if (newly > 0 && newly <= state.frames_in_flight()) {
    state.frames_acknowledged += newly;
    state.writes_acknowledged = state.writes_before[state.frames_acknowledged % lane_state::window];
  }
  happened_ = true;
  if (!header.has_records) return;
  if (!take_frame(state, header, message)) {
    if (state.held.size() >= lane_state::window)
      return complain(from, fmt::format("more than {} messages at a time", lane_state::window));
    state.held.emplace_back(message.begin(), message.end());
    return;
  }
  take_held(state);
}

/// False if it is not its turn yet.
bool command_engine::take_frame(lane_state& state, const frame_header& header,
                                std::span<const std::byte> frame) {
  const int from = static_cast<int>(header.from);
  const int index = static_cast<int>(header.lane);
  if (header.sequence != state.frames_handled + 1)
    return static_cast<std::int32_t>(header.sequence - state.frames_handled) <= 0;  // a duplicate
  if (about_.order == transport::message_order::counted &&
      static_cast<std::int32_t>(state.arrived.prefix() - header.after_writes) < 0)
    return false;
  frame_reader reader(frame.subspan(sizeof header));
  record_header record;
  std::span<const std::byte> data;
  flush_device();
  while (reader.next(record, data)) carry_out_record(from, index, record, data);
  if (!reader.empty()) complain(from, "a frame that ends within a record");
  ++state.frames_handled;
  if (header.wants_acknowledgement ||
      state.frames_handled - state.frames_told >= lane_state::window / 4)
    acknowledge(from, index);
  return true;
}

void command_engine::take_held(lane_state& state) {
  const auto take = [&](const std::vector<std::byte>& frame) {
    frame_header header;
    std::memcpy(&header, frame.data(), sizeof header);
    return take_frame(state, header, frame);
  };
  for (bool again = !state.held.empty(); again;) {
    const auto taken = std::find_if(state.held.begin(), state.held.end(), take);
    again = taken != state.held.end();
    if (again) state.held.erase(taken);
  }
}

void command_engine::on_write(std::uint32_t immediate) {
  const std::uint32_t from = immediate >> 16;
  const std::uint32_t index = immediate >> 12 & 0xf;
  if (from >= peers_.size() || index >= static_cast<std::uint32_t>(options_.lanes)) return;
  lane_state& state = lane(static_cast<int>(from), static_cast<int>(index));
  state.arrived.arrive(immediate & 0xfff);
  take_held(state);
  happened_ = true;
}

void command_engine::on_complete(std::uint64_t token, std::uint64_t value) {
  const part* found = parts_.find(token);
  if (!found) return;
  const part done = *found;
  parts_.remove(token);
  lane_state& state = lane(done.pe, done.lane);
  if (done.is_write) {
    if (tracks_writes_) state.writes.complete(done.number);
  } else {
    state.reads.complete(done.number);
    if (operation* what = operations_.find(done.operation); is_waited_for(what)) {
      if (done.chunk >= 0)
        memory_.write(0, done.local, staging_.at(done.chunk), done.bytes);
      else
        flush_device();
      what->value = value;
    }
  }
  if (done.chunk >= 0) staging_.give_back(done.chunk);
  finish_part(done.operation);
  happened_ = true;
}

bool command_engine::is_wanted(std::uint64_t token) {
  const part* found = parts_.find(token);
  // Nobody waits for a non-blocking put: its source stays until quiet.
  return found && ((found->is_write && found->operation == 0) ||
                   is_waited_for(operations_.find(found->operation)));
}

void command_engine::complain(int from, const std::string& what) {
  on_failure_(from, fmt::format("PE {} ({}) has sent {}; do all PEs run the same heddle?", from,
                                network_.describe(from), what));
}

void command_engine::carry_out_record(int from, int lane_index, const record_header& header,
                                      std::span<const std::byte> data) {
  const auto place = header.field[0];
  const auto update = [&](symmetric_place where, std::uint64_t value) {
    void* word = memory_.resolve(where, sizeof(signal));
    if (!word || reinterpret_cast<std::uintptr_t>(word) % sizeof(signal) != 0)
      return complain(from, fmt::format("a signal to offset {:#x}", offset_of(where)));
    if (header.op == static_cast<std::uint8_t>(signal_op::add))
      (void)memory_.atomic(region_of(where), word, sizeof(signal), atomic_op::add, value, 0);
    else
      memory_.store_word(region_of(where), word, value);
  };
  switch (header.kind) {
    case record_kind::put: {
      void* to = memory_.resolve(place, data.size());
      if (!to && !data.empty())
        return complain(from, fmt::format("{} bytes to offset {:#x} of region {}", data.size(),
                                          offset_of(place), region_of(place)));
      memory_.write(region_of(place), to, data.data(), data.size());
      if (header.has_signal) update(header.field[1], header.field[2]);
      return;
    }
    case record_kind::signal:
      return update(place, header.field[1]);
    case record_kind::atomic: {
      void* word = memory_.resolve(place, header.unit);
      if (!word || (header.unit != 4 && header.unit != 8) || header.op > 6 ||
          reinterpret_cast<std::uintptr_t>(word) % header.unit != 0)
        return complain(from, fmt::format("an atomic on offset {:#x}", offset_of(place)));
      record_header answer{};
      answer.kind = record_kind::reply;
      answer.field[0] = header.field[3];
      answer.field[1] =
          memory_.atomic(region_of(place), word, header.unit, static_cast<atomic_op>(header.op),
                         header.field[1], header.field[2]);
      if (header.field[3] != 0) append_or_keep(from, lane_index, answer, {});
      return;
    }
    case record_kind::abort: {
      void* word = memory_.resolve(place, sizeof(std::uint64_t));
      if (!word || reinterpret_cast<std::uintptr_t>(word) % sizeof(std::uint64_t) != 0) return;
      const auto swap = [&](std::uint64_t from, std::uint64_t to) {
        return memory_.atomic(region_of(place), word, sizeof to, atomic_op::compare_swap, to, from);
      };
      void* told = memory_.resolve(header.field[2], data.size());
      if (!data.empty() && told && swap(0, 0) == 0)
        memory_.write(region_of(header.field[2]), told, data.data(), data.size());
      (void)swap(0, header.field[1]);
      memory_.store_twin(place, 1);
      return;
    }
    case record_kind::scatter:
      return scatter(from, header, data);
    case record_kind::gather:
      return gather(from, lane_index, header);
    case record_kind::reply:
      return take_reply(from, header);
    case record_kind::data_reply:
      return take_gathered(from, lane_index, header, data);
    case record_kind::piece_wanted:
      return tell_piece(from, lane_index, header);
    case record_kind::piece:
      return learn_piece(from, header, data);
  }
  complain(from, fmt::format("a record of kind {}", static_cast<int>(header.kind)));
}

void command_engine::scatter(int from, const record_header& header,
                             std::span<const std::byte> data) {
  const std::uint64_t stride = header.field[1];
  const std::uint64_t unit = header.field[2];
  if (unit == 0 || unit > data.size()) return complain(from, "elements of no size");
  const std::uint64_t n = data.size() / unit;
  std::byte* to = stride > exposed_memory::most_bytes / n
                      ? nullptr
                      : memory_.resolve(header.field[0], (n - 1) * stride + unit);
  if (!to)
    return complain(from,
                    fmt::format("{} elements to offset {:#x}", n, offset_of(header.field[0])));
  for (std::uint64_t i = 0; i < n; ++i)
    memory_.write(region_of(header.field[0]), to + i * stride, data.data() + i * unit, unit);
}

void command_engine::gather(int from, int lane_index, const record_header& header) {
  const std::uint64_t stride = header.field[1];
  const auto [unit, n, first] = gather_shape::unpack(header.field[3]);
  const std::size_t bytes = n * unit;
  std::byte* source = n == 0 || stride > exposed_memory::most_bytes / n
                          ? nullptr
                          : memory_.resolve(header.field[0], (n - 1) * stride + unit);
  if (!source || sizeof(frame_header) + record_bytes(bytes) > about_.most_message_bytes)
    return complain(from, fmt::format("a read of {} elements of {} bytes at offset {:#x}", n, unit,
                                      offset_of(header.field[0])));
  record_header answer{};
  answer.kind = record_kind::data_reply;
  answer.data_bytes = static_cast<std::uint32_t>(bytes);
  answer.field[0] = header.field[2];
  answer.field[1] = first;
  answer.field[2] = unit;
  std::vector<std::byte> data(bytes);
  if (stride == unit)
    memory_.read(region_of(header.field[0]), data.data(), source, bytes);
  else
    for (std::uint64_t i = 0; i < n; ++i)
      memory_.read(region_of(header.field[0]), data.data() + i * unit, source + i * stride, unit);
  append_or_keep(from, lane_index, answer, data);
}

void command_engine::take_reply(int from, const record_header& header) {
  operation* what = operations_.find(header.field[0]);
  if (!what) return;  // it was given up
  if (what->pe != from || what->replies == 0)
    return complain(from, "a reply to what it was not asked");
  --what->replies;
  what->value = header.field[1];
  finish_part(header.field[0]);
}

void command_engine::take_gathered(int from, int lane_index, const record_header& header,
                                   std::span<const std::byte> data) {
  auto& missing = lane(from, lane_index).answer_bytes;
  missing -= std::min<std::uint64_t>(missing, data.size());
  operation* what = operations_.find(header.field[0]);
  if (!what) return;  // it was given up
  const std::uint64_t unit = header.field[2];
  const std::uint64_t first = header.field[1];
  if (what->pe != from || what->replies == 0 || unit == 0 || unit != what->unit ||
      data.size() % unit != 0 || first > what->elements ||
      data.size() / unit > what->elements - first)
    return complain(from, fmt::format("{} bytes that it was not asked for", data.size()));
  --what->replies;
  if (!what->local) {
    std::memcpy(&what->value, data.data(), std::min(data.size(), sizeof what->value));
  } else if (is_waited_for(what)) {
    if (what->stride == unit)
      memory_.write(0, what->local + first * unit, data.data(), data.size());
    else
      for (std::uint64_t i = 0; (i + 1) * unit <= data.size(); ++i)
        memory_.write(0, what->local + (first + i) * what->stride, data.data() + i * unit, unit);
  }
  finish_part(header.field[0]);
}

void command_engine::tell_piece(int from, int lane_index, const record_header& header) {
  const auto place = header.field[0];
  if (region_of(place) >= proxy_ref::max_regions)
    return complain(from, fmt::format("a question for region {}", region_of(place)));
  record_header answer{};
  answer.kind = record_kind::piece;
  answer.field[0] = place;
  std::span<const std::byte> key;
  try {
    if (const auto* piece = reached_.find(place)) {
      answer.field[1] = piece->offset;
      answer.field[2] = piece->size;
      key = piece->key;
    }
  } catch (const error& refused) {
    if (memory_.on_host(region_of(place))) return on_failure_(options_.my_pe, refused.what());
    give_up_region(region_of(place), refused.what());
  }
  if (reached_.is_hidden(region_of(place)))
    answer.op = static_cast<std::uint8_t>(no_piece::in_region);
  answer.data_bytes = static_cast<std::uint32_t>(key.size());
  append_or_keep(from, lane_index, answer, key);
}

void command_engine::learn_piece(int from, const record_header& header,
                                 std::span<const std::byte> data) {
  peer_state& peer = *peers_[static_cast<std::size_t>(from)];
  const auto place = header.field[0];
  if (std::erase(peer.asked, place) == 0) return;  // unasked, or asked before it was concealed
  if (header.field[2] == 0) {
    // Not yet: whoever waits for it asks again.
    if (header.op == static_cast<std::uint8_t>(no_piece::in_region))
      peer.unreached_regions |= 1u << region_of(place);
    return;
  }
  if (known_piece(peer, place)) return;
  network_.add_remote(from, region_of(place), header.field[1], header.field[2], data);
  peer.pieces.push_back({region_of(place), header.field[1], header.field[2], nullptr});
}

std::string command_engine::describe(int pe) const {
  const auto& peer = peers_[static_cast<std::size_t>(pe)];
  std::uint32_t frames = 0;
  for (int i = 0; peer && i < options_.lanes; ++i)
    frames += peer->lanes[static_cast<std::size_t>(i)].frames_in_flight();
  return fmt::format("reached by {} at {}{}", about_.name, network_.describe(pe),
                     frames > 0 ? fmt::format(", {} messages to it not acknowledged", frames) : "");
}

std::vector<int> command_engine::awaited() const {
  std::set<int> late;
  const auto state_of = [&](int pe, int lane) -> const lane_state& {
    return peers_[static_cast<std::size_t>(pe)]->lanes[static_cast<std::size_t>(lane)];
  };
  for (const auto* command : marked_)
    for (const auto& mark : command->marks) late.insert(mark.pe);
  for (const auto& [lane, mark] : given_up_)
    if (!is_complete(state_of(mark.pe, lane), mark)) late.insert(mark.pe);
  // What is not posted yet may wait for an answer of theirs.
  const auto is_silent = [&](const peer_state& peer) {
    return std::any_of(peer.lanes.begin(), peer.lanes.end(),
                       [](const lane_state& lane) { return lane.frames_in_flight() > 0; });
  };
  for (int pe = 0; late.empty() && pe < options_.n_pes; ++pe)
    if (const auto& peer = peers_[static_cast<std::size_t>(pe)]; peer && is_silent(*peer))
      late.insert(pe);
  std::erase_if(late, [&](int pe) { return peers_[static_cast<std::size_t>(pe)]->is_lost; });
  return {late.begin(), late.end()};
}

}  // namespace heddle
