// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "host/team_memory_pool.hpp"

#include "support/round_up.hpp"

namespace heddle {

namespace {

/// The largest of any system: a place that is given back is whole pages.
constexpr std::size_t page = std::size_t{64} << 10;

constexpr std::size_t whole_pages(std::size_t bytes) { return round_up(bytes, page); }

std::size_t mail_offset() { return whole_pages(sizeof(team_memory)); }
std::size_t scratch_offset(int world_size) {
  return whole_pages(mail_offset() +
                     static_cast<std::size_t>(world_size) * sizeof(team_memory_pool::mail));
}
std::size_t bytes_of_place(const team_memory_pool::shape& shape) {
  return whole_pages(
      scratch_offset(shape.world_size) +
      channel_scratch::bytes_per_team(shape.world_size, shape.with_links, shape.of_cuda));
}

}  // namespace

team_memory_pool::team_memory_pool(heap_memory& memory, const shape& shape)
    : memory_(memory),
      world_size_(shape.world_size),
      bytes_per_place_(bytes_of_place(shape)),
      free_(shape.places == max_places ? ~std::uint64_t{0}
                                       : (std::uint64_t{1} << shape.places) - 1) {}

std::size_t team_memory_pool::control_bytes() {
  return whole_pages(max_places * sizeof(team_control));
}

std::size_t team_memory_pool::bytes_needed(const shape& shape) {
  return control_bytes() + static_cast<std::size_t>(shape.places) * bytes_of_place(shape);
}

void team_memory_pool::give_back(int place) {
  memory_.empty(start(place), bytes_per_place_);
  free_ |= std::uint64_t{1} << place;
}

std::byte* team_memory_pool::start(int place) const {
  return memory_.base() + control_bytes() + static_cast<std::size_t>(place) * bytes_per_place_;
}
team_control* team_memory_pool::control(int place) const {
  return reinterpret_cast<team_control*>(memory_.base()) + place;
}
team_memory* team_memory_pool::words(int place) const {
  return reinterpret_cast<team_memory*>(start(place));
}
team_memory_pool::mail* team_memory_pool::mail_slots(int place) const {
  return reinterpret_cast<mail*>(start(place) + mail_offset());
}
std::byte* team_memory_pool::scratch(int place) const {
  return start(place) + scratch_offset(world_size_);
}

}  // namespace heddle
