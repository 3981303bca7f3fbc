// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "host/proxy/command_engine.hpp"

#include <algorithm>

#include "support/log.hpp"
#include "support/throw_error.hpp"

namespace heddle {

command_engine::command_engine(const options& options, transport& network,
                               failure_callback on_failure)
    : options_(options),
      network_(network),
      about_(network.about()),
      on_failure_(std::move(on_failure)),
      tracks_writes_(about_.completion_is_delivery ||
                     about_.order == transport::message_order::after_completions),
      uses_atomics_(about_.has_atomics && about_.atomics_match_cpu),
      most_data_((about_.most_message_bytes - sizeof(frame_header) - record_bytes(0)) / 8 * 8),
      memory_(options.device),
      peers_(static_cast<std::size_t>(options.n_pes)),
      reached_(network),
      staging_(network),
      dirty_(static_cast<std::size_t>(options.lanes)) {
  if (options.device && !about_.reaches_gpu) reached_.hide(0);
}

command_engine::~command_engine() = default;

void command_engine::add_memory(int region, std::uint64_t offset, std::byte* start,
                                std::size_t size) {
  memory_.add(region, offset, start, size);
}

void command_engine::expose(int region, std::uint64_t offset, std::byte* start, std::size_t size) {
  try {
    reached_.offer(region, offset, start, size);
  } catch (const error& refused) {
    if (memory_.on_host(region)) throw;
    give_up_region(region, refused.what());
  }
}

void command_engine::give_up_region(int region, const std::string& why) {
  if (reached_.is_hidden(region)) return;
  reached_.hide(region);
  log::warn(log::subsystem::transport, "the proxy copies to and from the GPU's memory, since {}",
            why);
}

void command_engine::conceal(int region, std::uint64_t offset) {
  const std::size_t size = reached_.withdraw(region, offset);
  const auto is_gone = [&](const auto& piece) {
    return piece.region == region && piece.offset >= offset && piece.offset - offset < size;
  };
  for (const auto& peer : peers_) {
    if (!peer) continue;
    std::erase_if(peer->pieces, is_gone);
    std::erase_if(peer->asked, [&](symmetric_place place) {
      return region_of(place) == region && offset_of(place) - offset < size;
    });
  }
}

bool command_engine::carry_out(active_command& command) {
  const auto& what = command.what;
  if (what.flags & command::wants_reply && command.from->gave_up(command.index)) {
    if (operations_.find(command.operation)) operations_.remove(command.operation);
    return true;
  }
  const peer_state* peer = what.pe >= 0 ? peers_[static_cast<std::size_t>(what.pe)].get() : nullptr;
  const bool is_lost = what.pe >= 0 && (all_are_lost_ || (peer && peer->is_lost));
  if (is_lost || (peer && peer->has_left)) {
    if (!is_lost && what.kind != command_kind::abort && !(what.flags & command::unheeded))
      miss(what.pe);
    reply(command);
    return true;
  }
  if (!post(command)) return false;
  if (what.pe >= 0 && !(what.flags & command::unheeded)) heed(what.pe, command.lane);
  return true;
}

bool command_engine::post(active_command& command) {
  switch (command.what.kind) {
    case command_kind::put:
      return put(command);
    case command_kind::get:
      return get(command);
    case command_kind::signal:
      return send_signal(command);
    case command_kind::atomic:
      return atomic(command);
    case command_kind::iput:
      return iput(command);
    case command_kind::iget:
      return iget(command);
    case command_kind::fence:
      return fence(command);
    case command_kind::quiet:
      return quiet(command);
    case command_kind::abort:
      return send_abort(command);
  }
  reply(command);
  return true;
}

void command_engine::reply(const active_command& command, std::uint64_t value) {
  if (command.what.flags & command::wants_reply) command.from->reply(command.index, value);
}

void command_engine::begin_operation(active_command& command) {
  if (command.operation == 0)
    command.operation =
        operations_.add({.from = command.from,
                         .index = command.index,
                         .wants_reply = (command.what.flags & command::wants_reply) != 0,
                         .all_posted = false,
                         .pe = command.what.pe,
                         .parts = 0,
                         .value = 0,
                         .replies = 0,
                         .local = reinterpret_cast<std::byte*>(command.what.local),
                         .stride = 0,
                         .unit = 0,
                         .elements = 0,
                         .lane = -1});
}

bool command_engine::all_posted(active_command& command) {
  operation* posted = operations_.find(command.operation);
  if (!posted) {
    reply(command);  // there was nothing to wait for, or the peer is lost
    return true;
  }
  posted->all_posted = true;
  ++posted->parts;
  finish_part(command.operation);
  return true;
}

void command_engine::finish_part(std::uint64_t which) {
  operation* done = operations_.find(which);
  if (!done || done->parts == 0 || --done->parts > 0 || !done->all_posted) return;
  if (done->wants_reply) done->from->reply(done->index, done->value);
  if (done->lane >= 0) --lane(done->pe, done->lane).reads_outstanding;
  operations_.remove(which);
}

/// A kernel's own address is wrong: nothing is sent.
void command_engine::refuse_place(const active_command& command, symmetric_place place,
                                  std::size_t bytes) {
  const bool is_of_heap =
      region_of(place) == 0 || memory_.resolve(place - offset_of(place), 1) != nullptr;
  const auto where =
      is_of_heap
          ? fmt::format("at offset {:#x} of {} of PE {}", offset_of(place),
                        region_of(place) == 0 ? "the heap" : "the host's heap", command.what.pe)
          : fmt::format("at address {:#x} for PE {}", offset_of(place), command.what.pe);
  on_failure_(options_.my_pe, fmt::format("a kernel of PE {} named {} bytes {}, which are not "
                                          "symmetric memory; see the addresses it passes to put, "
                                          "get, signals and atomics",
                                          options_.my_pe, bytes, where));
}

const exposed_memory::piece* command_engine::known_piece(const peer_state& peer,
                                                         symmetric_place place) {
  for (const auto& piece : peer.pieces)
    if (piece.region == region_of(place) && offset_of(place) >= piece.offset &&
        offset_of(place) - piece.offset < piece.size)
      return &piece;
  return nullptr;
}

const exposed_memory::piece* command_engine::piece_of(int pe, int lane_index,
                                                      symmetric_place place) {
  (void)lane(pe, lane_index);
  peer_state& peer = *peers_[static_cast<std::size_t>(pe)];
  if (const auto* known = known_piece(peer, place)) return known;
  if (std::find(peer.asked.begin(), peer.asked.end(), place) == peer.asked.end()) {
    record_header wanted{};
    wanted.kind = record_kind::piece_wanted;
    wanted.field[0] = place;
    if (append(pe, lane_index, wanted, {})) peer.asked.push_back(place);
  }
  return nullptr;
}

std::optional<command_engine::local_side> command_engine::local_side_of(std::uint64_t address,
                                                                        std::size_t bytes) {
  auto* at = reinterpret_cast<std::byte*>(address);
  if (!options_.device && !about_.needs_registered_local) return local_side{at, bytes, -1};
  if (const auto* piece = reached_.find_local(at))
    return local_side{
        at, std::min(bytes, static_cast<std::size_t>(piece->start + piece->size - at)), -1};
  const int chunk = staging_.take();
  if (chunk < 0) return std::nullopt;
  return local_side{staging_.at(chunk), std::min(bytes, staging_pool::chunk_bytes), chunk};
}

std::optional<command_engine::transfer> command_engine::next_transfer(
    const active_command& command) {
  const auto& what = command.what;
  const symmetric_place place = what.remote + command.done;
  const auto* piece = piece_of(what.pe, command.lane, place);
  if (!piece) return std::nullopt;
  const std::uint64_t left = piece->offset + piece->size - offset_of(place);
  const std::size_t most =
      std::min({what.bytes - command.done, left, std::uint64_t{about_.most_transfer_bytes}});
  const std::uint64_t local = what.local + command.done;
  const auto side = local_side_of(local, most);
  if (!side) return std::nullopt;
  return transfer{{what.pe, region_of(place), offset_of(place)}, *side, local};
}

void command_engine::take_back(const transfer& refused, std::uint64_t token) {
  if (token != transport::no_token) parts_.remove(token);
  if (refused.side.chunk >= 0) staging_.give_back(refused.side.chunk);
}

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

bool command_engine::put(active_command& command) {
  const auto& what = command.what;
  if (command.done == 0 && (!check_place(command, what.remote, what.bytes) ||
                            ((what.flags & command::has_signal) &&
                             !check_place(command, what.signal, sizeof(signal))))) {
    reply(command);
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

bool command_engine::get(active_command& command) {
  const auto& what = command.what;
  if (command.done == 0 && !check_place(command, what.remote, what.bytes)) {
    reply(command);
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
                                   .number = 0,
                                   .chunk = side.chunk,
                                   .local = reinterpret_cast<std::byte*>(next->local),
                                   .bytes = side.bytes});
    if (!network_.post_read(command.lane, side.address, next->place, side.bytes, token)) {
      take_back(*next, token);
      return refused();
    }
    ++operations_.find(command.operation)->parts;
    ++state.reads_outstanding;
    command.done += side.bytes;
  }
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

bool command_engine::atomic(active_command& command) {
  const auto& what = command.what;
  if (!check_place(command, what.remote, what.unit)) {
    reply(command);
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
                                 .number = 0,
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
  ++lane(what.pe, command.lane).reads_outstanding;
  return all_posted(command);
}

bool command_engine::iput(active_command& command) {
  const auto& what = command.what;
  const std::uint64_t n = what.bytes / what.unit;
  if (command.done == 0 &&
      !check_place(command, what.remote, (n - 1) * what.value * what.unit + what.unit)) {
    reply(command);
    return true;
  }
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

bool command_engine::iget(active_command& command) {
  const auto& what = command.what;
  const std::uint64_t n = what.bytes / what.unit;
  if (command.done == 0 &&
      !check_place(command, what.remote, (n - 1) * what.value * what.unit + what.unit)) {
    reply(command);
    return true;
  }
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
    ++lane(what.pe, command.lane).reads_outstanding;
  }
  const std::uint64_t most = std::min(most_data_ / layout.unit, gather_shape::most);
  while (command.done < n) {
    const std::uint64_t now = std::min(n - command.done, most);
    record_header header{};
    header.kind = record_kind::gather;
    header.field[0] = what.remote + command.done * layout.there;
    header.field[1] = layout.there;
    header.field[2] = command.operation;
    header.field[3] = gather_shape{layout.unit, now, command.done}.pack();
    if (!append(what.pe, command.lane, header, {})) return false;
    ++elements.parts;
    ++elements.replies;
    command.done += now;
  }
  return all_posted(command);
}

bool command_engine::fence(const active_command& command) {
  // Messages follow writes, but not atomics.
  if (uses_atomics_)
    for (const int pe : dirty_[static_cast<std::size_t>(command.lane)])
      if (!peers_[static_cast<std::size_t>(pe)]->is_lost &&
          lane(pe, command.lane).reads_outstanding > 0)
        return false;
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

bool command_engine::is_quiet(int pe, int lane_index, lane_state& state) {
  if (peers_[static_cast<std::size_t>(pe)]->is_lost) return true;
  const bool carried_out = is_carried_out(state);
  if (!carried_out && peers_[static_cast<std::size_t>(pe)]->has_left) miss(pe);
  if (!carried_out) ask_for_acknowledgement(pe, lane_index);
  return carried_out && state.reads_outstanding == 0 &&
         (!tracks_writes_ || state.heeded_writes <= state.writes.done());
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
  reply(command);
  return true;
}

bool command_engine::send_abort(const active_command& command) {
  const auto& what = command.what;
  record_header header{};
  header.kind = record_kind::abort;
  header.data_bytes = static_cast<std::uint32_t>(what.bytes);
  header.field[0] = what.remote;
  header.field[1] = what.value;
  header.field[2] = what.signal;
  std::vector<std::byte> data;
  for (const auto& piece : command.payload) data.insert(data.end(), piece.begin(), piece.end());
  append_or_keep(what.pe, command.lane, header, data);
  return true;
}

}  // namespace heddle
