// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// The command engine and the memory of a put or get that the network itself carries out.

#include <algorithm>

#include "host/proxy/command_engine.hpp"

namespace heddle {

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

/// What operations hold that were given up, and whose peer does not answer, is not to be in the way
/// of others.
int command_engine::take_staging() {
  const int free = staging_.take();
  if (free >= 0) return free;
  parts_.for_each([&](std::uint64_t, part& held) {
    if (held.chunk < 0 || held.operation == 0 || is_waited_for(operations_.find(held.operation)))
      return;
    staging_.abandon();
    held.chunk = -1;
  });
  return staging_.take();
}

std::optional<command_engine::local_side> command_engine::local_side_of(std::uint64_t address,
                                                                        std::size_t bytes,
                                                                        bool may_be_given_up) {
  auto* at = reinterpret_cast<std::byte*>(address);
  const bool stays = about_.asks_before_touching || !may_be_given_up;
  if (!options_.device && !about_.needs_registered_local && stays) return local_side{at, bytes, -1};
  // A kernel that gives up does not wait until nobody looks at its memory any more (settle).
  const bool may_change = options_.device && may_be_given_up && about_.asks_before_touching;
  if (const auto* piece = may_change ? nullptr : reached_.find_local(at))
    return local_side{
        at, std::min(bytes, static_cast<std::size_t>(piece->start + piece->size - at)), -1};
  const int chunk = take_staging();
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
  const auto side = local_side_of(local, most, (what.flags & command::wants_reply) != 0);
  if (!side) return std::nullopt;
  return transfer{{what.pe, region_of(place), offset_of(place)}, *side, local};
}

void command_engine::take_back(const transfer& refused, std::uint64_t token) {
  if (token != transport::no_token) parts_.remove(token);
  if (refused.side.chunk >= 0) staging_.give_back(refused.side.chunk);
}

}  // namespace heddle
