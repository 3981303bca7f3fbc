// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "host/proxy/command_engine.hpp"

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
      dirty_(static_cast<std::size_t>(options.lanes)),
      lost_in_(static_cast<std::size_t>(options.lanes), producer::nobody) {
  if (about_.order == transport::message_order::counted && options.n_pes > 1 << 16)
    throw_error(HEDDLE_ERROR_NOT_SUPPORTED,
                "{} counts writes by 16 bits of the PE's number, and the job has {} PEs; choose "
                "another network (HEDDLE_TRANSPORT, HEDDLE_FABRIC_PROVIDER)",
                about_.name, options.n_pes);
  if (options.device && !about_.reaches_gpu) reached_.hide(0);
}

command_engine::~command_engine() = default;

void command_engine::add_memory(int region, std::uint64_t offset, std::byte* start,
                                std::size_t size) {
  memory_.add(region, offset, start, size);
}

void command_engine::remove_memory(int region, std::uint64_t offset, std::size_t size) {
  memory_.remove(region, offset, size);
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
    unmark(command);
    return true;
  }
  const peer_state* peer = what.pe >= 0 ? peers_[static_cast<std::size_t>(what.pe)].get() : nullptr;
  const bool is_lost = what.pe >= 0 && (all_are_lost_ || (peer && peer->is_lost));
  if (is_lost || (peer && peer->has_left)) {
    if (what.kind != command_kind::abort && !(what.flags & command::unheeded)) {
      if (!is_lost) miss(what.pe);
      lost_in_[static_cast<std::size_t>(command.lane)] = what.pe;
    }
    reply_without(command, what.pe);
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

void command_engine::reply(const active_command& command) {
  reply_without(command, producer::nobody);
}

void command_engine::reply_without(const active_command& command, int lost) {
  if (command.what.flags & command::wants_reply) command.from->reply(command.index, 0, lost);
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
                         .lane = -1,
                         .read = 0});
}

bool command_engine::all_posted(active_command& command) {
  operation* posted = operations_.find(command.operation);
  if (!posted) {
    // There was nothing to wait for, or the peer is lost.
    const bool is_lost = command.operation != 0;
    reply_without(command, is_lost ? command.what.pe : producer::nobody);
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
  if (done->wants_reply) done->from->reply(done->index, done->value, producer::nobody);
  if (done->lane >= 0) lane(done->pe, done->lane).reads.complete(done->read);
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

bool command_engine::check_elements(const active_command& command) {
  const auto& what = command.what;
  const std::uint64_t n = what.bytes / what.unit;
  if (command.done > 0 ||
      check_place(command, what.remote, (n - 1) * what.value * what.unit + what.unit))
    return true;
  reply_without(command, options_.my_pe);
  return false;
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
