// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "host/proxy/command_queue.hpp"

#include <algorithm>

namespace heddle {

namespace {

constexpr std::uint64_t slots = command_queue_ref::slots;

std::uint64_t slots_of(const command& what) {
  return command_queue_ref::slots_for(what.flags & command::has_payload ? what.bytes : 0);
}

}  // namespace

/// The next command, if its producer has finished it.
bool command_queue::fetch() {
  const command& slot = shared_.ring[next_ % slots];
  if (load(&slot.turn, acquire) != next_ + 1) return false;
  active_.what = slot;
  active_.index = next_;
  active_.done = 0;
  active_.operation = 0;
  active_.marks.clear();
  if (!(slot.flags & command::has_payload)) {
    active_.payload[0] = active_.payload[1] = {};
  } else {
    const auto* ring = reinterpret_cast<const std::byte*>(shared_.ring);
    const std::uint64_t first = (next_ + 1) % slots * sizeof(command);
    const std::uint64_t here = std::min<std::uint64_t>(slot.bytes, sizeof shared_.ring - first);
    active_.payload[0] = {ring + first, here};
    active_.payload[1] = {ring, slot.bytes - here};
  }
  const bool is_about_kernels = kernels_ && slot.kind == command_kind::quiet;
  after_kernels_ = is_about_kernels ? kernels_->end_of_finished() : 0;
  is_active_ = true;
  return true;
}

std::uint64_t command_queue::end_of_finished() const {
  std::uint64_t end = next_;
  for (;;) {
    const command& slot = shared_.ring[end % slots];
    if (load(&slot.turn, acquire) != end + 1) return end;
    end += slots_of(slot);
  }
}

bool command_queue::consume(command_engine& engine, int most) {
  bool moved = false;
  for (int i = 0; i < most && (is_active_ || fetch()); ++i) {
    if (kernels_ && kernels_->next_ < after_kernels_ && !gave_up(active_.index)) break;
    if (!engine.carry_out(active_)) break;
    next_ += slots_of(active_.what);
    is_active_ = false;
    moved = true;
  }
  give_back();
  return moved;
}

void command_queue::give_back() {
  const std::uint64_t before = given_back_;
  while (given_back_ < next_) {
    const command& slot = shared_.ring[given_back_ % slots];
    if (slot.flags & command::wants_reply && !is_done_with(slot, given_back_)) break;
    const std::uint64_t end = given_back_ + slots_of(slot);
    // What was data must not be taken for a turn.
    for (std::uint64_t i = given_back_ + 1; i < end; ++i) shared_.ring[i % slots].turn = 0;
    given_back_ = end;
  }
  if (given_back_ != before) store(&shared_.consumed, given_back_, release);
}

/// A command whose producer waits, or may give up.
bool command_queue::is_done_with(const command& what, std::uint64_t index) const {
  const command_reply& reply = shared_.replies[index % slots];
  if (what.flags & command::lent && load(&reply.stamp, relaxed) == index + 1) return true;
  return load(&reply.taken, acquire) == index + 1;
}

bool command_queue::gave_up(std::uint64_t index) const {
  return index < given_back_ || load(&shared_.replies[index % slots].taken, acquire) == index + 1;
}

void command_queue::reply(std::uint64_t index, std::uint64_t value, int lost) {
  if (index < given_back_) return;  // the producer has given up, and another may have the slot
  command_reply& reply = shared_.replies[index % slots];
  reply.value = value;
  reply.lost = static_cast<std::uint64_t>(lost + 1);
  store(&reply.stamp, index + 1, release);
}

}  // namespace heddle
