// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "host/proxy/network_memory.hpp"

#include <algorithm>
#include <heddle/error.hpp>
#include <utility>

#include "host/proxy/exposed_memory.hpp"
#include "support/log.hpp"

namespace heddle {

namespace {

/// The entry at or before a key; end() if there is none.
template <class Map, class Key>
auto last_not_after(Map& map, Key key) {
  const auto above = map.upper_bound(key);
  return above == map.begin() ? map.end() : std::prev(above);
}

}  // namespace

void network_memory::offer(int region, std::uint64_t offset, std::byte* start, std::size_t size) {
  const range all{region, offset, start, size};
  ranges_[place_at(region, offset)] = all;
  by_address_[start] = all;
  if (!network_.about().pins_memory && !is_hidden(region)) show(all, 0, size);
}

std::size_t network_memory::withdraw(int region, std::uint64_t offset) {
  const auto found = ranges_.find(place_at(region, offset));
  if (found == ranges_.end()) return 0;
  const range gone = found->second;
  ranges_.erase(found);
  by_address_.erase(gone.start);
  const auto first = pieces_.lower_bound(place_at(region, offset));
  const auto last = pieces_.lower_bound(place_at(region, offset + gone.size));
  for (auto each = first; each != last; ++each) network_.conceal(region, each->second.offset);
  pieces_.erase(first, last);
  return gone.size;
}

void network_memory::show(const range& around, std::uint64_t first, std::size_t size) {
  const std::uint64_t offset = around.offset + first;
  pieces_[place_at(around.region, offset)] = {
      around.region, offset, around.start + first, size,
      network_.expose(around.region, offset, around.start + first, size)};
}

const network_memory::piece* network_memory::find_in(const range& around, std::uint64_t within) {
  if (within >= around.size || is_hidden(around.region)) return nullptr;
  const auto known = last_not_after(pieces_, place_at(around.region, around.offset + within));
  if (known != pieces_.end() && known->second.region == around.region &&
      around.offset + within - known->second.offset < known->second.size)
    return &known->second;
  const std::uint64_t first = within / piece_bytes * piece_bytes;
  show(around, first, std::min<std::uint64_t>(piece_bytes, around.size - first));
  return &pieces_[place_at(around.region, around.offset + first)];
}

const network_memory::piece* network_memory::find(symmetric_place place) {
  const auto found = last_not_after(ranges_, place);
  return found == ranges_.end() ? nullptr : find_in(found->second, place - found->first);
}

const network_memory::piece* network_memory::find_local(const void* address) {
  const auto* at = static_cast<const std::byte*>(address);
  const auto found = last_not_after(by_address_, at);
  if (found == by_address_.end()) return nullptr;
  try {
    return find_in(found->second, static_cast<std::uint64_t>(at - found->first));
  } catch (const error& refused) {
    if (!std::exchange(was_refused_, true))
      log::warn(log::subsystem::transport, "copying what is sent, since {}", refused.what());
    return nullptr;
  }
}

}  // namespace heddle
