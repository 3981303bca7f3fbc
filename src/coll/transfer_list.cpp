// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "coll/transfer_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bitset>

#include "support/throw_error.hpp"

namespace heddle {

namespace {

/// Each send of a PE to itself, followed by what receives it.
std::vector<transfer> own_pairs(const std::vector<transfer>& own) {
  std::vector<transfer> sends;
  std::vector<transfer> receives;
  for (const auto& each : own) (each.is_send ? sends : receives).push_back(each);
  if (sends.size() != receives.size())
    throw_error(HEDDLE_ERROR_INVALID_USAGE,
                "{} sends of this PE to itself, and {} receives; they must be in one group",
                sends.size(), receives.size());
  std::vector<transfer> pairs;
  for (std::size_t i = 0; i < sends.size(); ++i) {
    if (sends[i].bytes != receives[i].bytes)
      throw_error(HEDDLE_ERROR_MISMATCH, "this PE sends {} bytes to itself and receives {}",
                  sends[i].bytes, receives[i].bytes);
    pairs.push_back(sends[i]);
    pairs.push_back(receives[i]);
  }
  return pairs;
}

/// What one receives must be no other's: which would be there in the end?
void require_apart(std::vector<transfer> list) {
  std::sort(list.begin(), list.end(),
            [](const transfer& a, const transfer& b) { return a.memory < b.memory; });
  const auto end_of = [](const transfer& t) { return t.memory + t.bytes; };
  const auto told = [](const transfer& t) {
    return fmt::format("{} bytes at {} that are {} PE {}", t.bytes,
                       static_cast<const void*>(t.memory), t.is_send ? "sent to" : "received from",
                       t.pe);
  };
  // The furthest of those before: of all, and of what is received.
  const transfer* furthest = nullptr;
  const transfer* furthest_received = nullptr;
  for (const auto& each : list) {
    const transfer* before = each.is_send ? furthest_received : furthest;
    if (before && end_of(*before) > each.memory)
      throw_error(HEDDLE_ERROR_INVALID_ARGUMENT, "in one group, {} overlap {}", told(each),
                  told(*before));
    if (!furthest || end_of(each) > end_of(*furthest)) furthest = &each;
    if (!each.is_send && (!furthest_received || end_of(each) > end_of(*furthest_received)))
      furthest_received = &each;
  }
}

}  // namespace

void transfer_list::add(bool is_send, void* memory, std::size_t bytes, int pe) {
  list_.push_back(
      {.memory = static_cast<byte*>(memory), .bytes = bytes, .pe = pe, .is_send = is_send});
}

void transfer_list::write_to(std::span<transfer> place, int my_pe) const {
  const auto room = std::min(place.size(), std::size_t{many_transfers_args::most});
  if (list_.size() > room)
    throw_error(HEDDLE_ERROR_NOT_SUPPORTED,
                "{} sends and receives in one group; a kernel takes at most {}", list_.size(),
                room);
  if (list_.size() == 1 && list_[0].pe != my_pe) {
    place[0] = list_[0];
    return;
  }
  require_apart(list_);
  int lanes = 0;
  std::bitset<many_transfers_args::most> is_placed;
  auto end = place.begin();
  for (std::size_t first = 0; first < list_.size(); ++first) {
    if (is_placed[first]) continue;
    ++lanes;
    const auto lane = end;
    const bool own = list_[first].pe == my_pe;
    for (std::size_t i = first; i < list_.size(); ++i) {
      if (list_[i].pe != list_[first].pe || (!own && list_[i].is_send != list_[first].is_send))
        continue;
      is_placed.set(i);
      *end++ = list_[i];
    }
    if (own) std::ranges::copy(own_pairs({lane, end}), lane);
  }
  if (lanes > transfers_args::most_lanes)
    throw_error(HEDDLE_ERROR_NOT_SUPPORTED,
                "a group that sends to PEs and receives from PEs, {} in all; a kernel takes at "
                "most {}",
                lanes, transfers_args::most_lanes);
}

}  // namespace heddle
