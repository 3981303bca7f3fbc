// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// The command engine and what needs no answer: puts, strided ones, signals.

#include <algorithm>

#include "host/proxy/command_engine.hpp"

namespace heddle {

bool command_engine::put(active_command& command) {
  const auto& what = command.what;
  if (command.done == 0 && (!check_place(command, what.remote, what.bytes) ||
                            ((what.flags & command::has_signal) &&
                             !check_place(command, what.signal, sizeof(signal))))) {
    reply_without(command, options_.my_pe);
    return true;
  }
  if (what.flags & command::has_payload || what.bytes <= std::min(about_.eager_bytes, most_data_) ||
      !is_reached(what.pe, what.remote))
    return put_in_records(command);
  return put_by_writes(command);
}

namespace {

/// `bytes` of a payload, from `begin` on.
void copy_payload(std::byte* to, std::span<const std::span<const std::byte>> pieces,
                  std::size_t begin, std::size_t bytes) {
  for (const auto& piece : pieces) {
    const std::size_t skipped = std::min(begin, piece.size());
    const auto part = piece.subspan(skipped, std::min(bytes, piece.size() - skipped));
    if (!part.empty()) std::memcpy(to, part.data(), part.size());
    to += part.size();
    begin -= skipped;
    bytes -= part.size();
  }
}

}  // namespace

/// Small data; and all for memory that the network does not reach (a GPU's, mostly), where it is no
/// detour: the peer's proxy must copy it there anyhow.
bool command_engine::put_in_records(active_command& command) {
  const auto& what = command.what;
  do {
    const std::uint64_t left = what.bytes - command.done;
    const std::uint64_t now = std::min<std::uint64_t>(left, most_data_);
    record_header header{};
    header.kind = record_kind::put;
    header.op = what.op;
    header.has_signal = (what.flags & command::has_signal) != 0 && now == left;
    header.data_bytes = static_cast<std::uint32_t>(now);
    header.field[0] = what.remote + command.done;
    header.field[1] = what.signal;
    header.field[2] = what.value;
    std::byte* data = append(what.pe, command.lane, header);
    if (!data) return false;
    if (what.flags & command::has_payload) {
      copy_payload(data, command.payload, command.done, now);
    } else {
      memory_.read(0, data, reinterpret_cast<const std::byte*>(what.local) + command.done, now);
    }
    command.done += now;
  } while (command.done < what.bytes);
  return all_posted(command);  // some of it may have been written before
}

bool command_engine::put_by_writes(active_command& command) {
  const auto& what = command.what;
  if (!fence_allows(what.pe, command.lane)) return false;
  while (command.done < what.bytes) {
    lane_state& state = lane(what.pe, command.lane);
    if (about_.order == transport::message_order::counted &&
        state.writes_sent - state.writes_acknowledged >= arrived_writes::window / 2) {
      // A frame counts them, and is acknowledged when they are there.
      ask_for_acknowledgement(what.pe, command.lane);
      return false;
    }
    const auto next = next_transfer(command);
    if (!next) return false;
    const auto& side = next->side;
    if (side.chunk >= 0)
      memory_.read(0, side.address, reinterpret_cast<const void*>(next->local), side.bytes);
    const bool wants_reply = (what.flags & command::wants_reply) != 0 && side.chunk < 0;
    std::uint64_t token = transport::no_token;
    if (wants_reply) begin_operation(command);
    if (wants_reply || tracks_writes_ || side.chunk >= 0)
      token = parts_.add({.operation = wants_reply ? command.operation : 0,
                          .pe = what.pe,
                          .lane = command.lane,
                          .is_write = true,
                          .number = state.writes.posted() + 1,
                          .chunk = side.chunk,
                          .local = nullptr,
                          .bytes = side.bytes});
    const auto number = static_cast<std::uint32_t>(state.writes_sent + 1);
    const std::uint32_t immediate = static_cast<std::uint32_t>(options_.my_pe) << 16 |
                                    static_cast<std::uint32_t>(command.lane) << 12 |
                                    (number & 0xfff);
    if (!network_.post_write(command.lane, next->place, side.address, side.bytes, token,
                             immediate)) {
      take_back(*next, token);
      return refused();
    }
    if (wants_reply) ++operations_.find(command.operation)->parts;
    if (tracks_writes_) (void)state.writes.post();
    ++state.writes_sent;
    if (!memory_.on_host(region_of(what.remote))) state.device_writes = state.writes_sent;
    command.done += side.bytes;
  }
  if ((what.flags & command::has_signal) && !send_signal(command)) return false;
  return all_posted(command);
}

bool command_engine::send_signal(const active_command& command) {
  const auto& what = command.what;
  if (what.kind == command_kind::signal && !check_place(command, what.signal, sizeof(signal)))
    return true;
  record_header header{};
  header.kind = record_kind::signal;
  header.op = what.op;
  header.field[0] = what.signal;
  header.field[1] = what.value;
  return append(what.pe, command.lane, header, {});
}

bool command_engine::iput(active_command& command) {
  const auto& what = command.what;
  const std::uint64_t n = what.bytes / what.unit;
  if (!check_elements(command)) return true;
  const std::uint64_t most = most_data_ / what.unit;
  while (command.done < n) {
    const std::uint64_t now = std::min(n - command.done, most);
    record_header header{};
    header.kind = record_kind::scatter;
    header.data_bytes = static_cast<std::uint32_t>(now * what.unit);
    header.field[0] = what.remote + command.done * what.value * what.unit;
    header.field[1] = what.value * what.unit;
    header.field[2] = what.unit;
    std::byte* data = append(what.pe, command.lane, header);
    if (!data) return false;
    for (std::uint64_t i = 0; i < now; ++i)
      memory_.read(0, data + i * what.unit,
                   reinterpret_cast<const std::byte*>(what.local) +
                       (command.done + i) * what.compare * what.unit,
                   what.unit);
    command.done += now;
  }
  reply(command);
  return true;
}

}  // namespace heddle
