// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// The command engine and what is answered: gets, strided ones, atomics.

#include <algorithm>

#include "host/proxy/command_engine.hpp"

namespace heddle {

namespace {

/// That one PE asks another's proxy for at a time, in each context.
constexpr std::uint64_t most_answer_bytes = 4 << 20;

}  // namespace

bool command_engine::get(active_command& command) {
  const auto& what = command.what;
  if (command.done == 0 && !check_place(command, what.remote, what.bytes)) {
    reply_without(command, options_.my_pe);
    return true;
  }
  begin_operation(command);
  if (what.local == 0) {
    record_header header{};
    header.kind = record_kind::gather;
    header.field[0] = what.remote;
    header.field[2] = command.operation;
    header.field[3] = gather_shape{what.bytes, 1, 0}.pack();
    if (!append(what.pe, command.lane, header, {})) return false;
    lane(what.pe, command.lane).answer_bytes += what.bytes;
    operation& word = *operations_.find(command.operation);
    word.unit = what.bytes;
    word.elements = 1;
    ++word.parts;
    ++word.replies;
    return all_posted(command);
  }
  if (!is_reached(what.pe, what.remote)) return get_elements(command, {1, 1, 1});
  while (command.done < what.bytes) {
    const auto next = next_transfer(command);
    if (!next) return false;
    const auto& side = next->side;
    lane_state& state = lane(what.pe, command.lane);
    const auto token = parts_.add({.operation = command.operation,
                                   .pe = what.pe,
                                   .lane = command.lane,
                                   .is_write = false,
                                   .number = state.reads.posted() + 1,
                                   .chunk = side.chunk,
                                   .local = reinterpret_cast<std::byte*>(next->local),
                                   .bytes = side.bytes});
    if (!network_.post_read(command.lane, side.address, next->place, side.bytes, token)) {
      take_back(*next, token);
      return refused();
    }
    ++operations_.find(command.operation)->parts;
    (void)state.reads.post();
    command.done += side.bytes;
  }
  return all_posted(command);
}

bool command_engine::iget(active_command& command) {
  const auto& what = command.what;
  if (!check_elements(command)) return true;
  begin_operation(command);
  return get_elements(command, {what.unit, what.value * what.unit, what.compare * what.unit});
}

bool command_engine::get_elements(active_command& command, const element_layout& layout) {
  const auto& what = command.what;
  const std::uint64_t n = what.bytes / layout.unit;
  operation& elements = *operations_.find(command.operation);
  elements.stride = layout.here;
  elements.unit = layout.unit;
  elements.elements = n;
  if (!elements.wants_reply && elements.lane < 0) {
    // Nothing else tells quiet of answers that are on their way.
    elements.lane = command.lane;
    elements.read = lane(what.pe, command.lane).reads.post();
  }
  const std::uint64_t most = std::min(most_data_ / layout.unit, gather_shape::most);
  while (command.done < n) {
    // What answers is kept at the peer until it can leave.
    if (lane(what.pe, command.lane).answer_bytes >= most_answer_bytes &&
        !(what.flags & command::unheeded))
      return false;
    const std::uint64_t now = std::min(n - command.done, most);
    record_header header{};
    header.kind = record_kind::gather;
    header.field[0] = what.remote + command.done * layout.there;
    header.field[1] = layout.there;
    header.field[2] = command.operation;
    header.field[3] = gather_shape{layout.unit, now, command.done}.pack();
    if (!append(what.pe, command.lane, header, {})) return false;
    lane(what.pe, command.lane).answer_bytes += now * layout.unit;
    ++elements.parts;
    ++elements.replies;
    command.done += now;
  }
  return all_posted(command);
}

bool command_engine::atomic(active_command& command) {
  const auto& what = command.what;
  if (!check_place(command, what.remote, what.unit)) {
    reply_without(command, options_.my_pe);
    return true;
  }
  const auto op = static_cast<atomic_op>(what.op);
  const bool wants_reply = (what.flags & command::wants_reply) != 0;
  const bool by_network = uses_atomics_ && memory_.on_host(region_of(what.remote)) &&
                          what.unit == 8 && (op == atomic_op::add || op == atomic_op::compare_swap);
  if (!by_network) {
    if (wants_reply) begin_operation(command);
    record_header header{};
    header.kind = record_kind::atomic;
    header.op = what.op;
    header.unit = what.unit;
    header.field[0] = what.remote;
    header.field[1] = what.value;
    header.field[2] = what.compare;
    header.field[3] = command.operation;
    if (!append(what.pe, command.lane, header, {})) return false;
    if (operation* told = wants_reply ? operations_.find(command.operation) : nullptr) {
      ++told->parts;
      ++told->replies;
    }
    return all_posted(command);
  }
  if (!fence_allows(what.pe, command.lane) || !piece_of(what.pe, command.lane, what.remote))
    return false;
  begin_operation(command);
  const auto token = parts_.add({.operation = command.operation,
                                 .pe = what.pe,
                                 .lane = command.lane,
                                 .is_write = false,
                                 .number = lane(what.pe, command.lane).reads.posted() + 1,
                                 .chunk = -1,
                                 .local = nullptr,
                                 .bytes = 0});
  if (!network_.post_atomic(
          command.lane,
          op == atomic_op::add ? network_atomic::fetch_add : network_atomic::compare_swap,
          {what.pe, region_of(what.remote), offset_of(what.remote)}, what.value, what.compare,
          token)) {
    parts_.remove(token);
    return refused();
  }
  ++operations_.find(command.operation)->parts;
  (void)lane(what.pe, command.lane).reads.post();
  return all_posted(command);
}

}  // namespace heddle
