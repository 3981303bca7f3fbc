// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "host/proxy/exposed_memory.hpp"

#include <cstring>

#include "host/word_kernels.hpp"

namespace heddle {

namespace {

template <class Word>
std::uint64_t apply(void* word, atomic_op op, std::uint64_t value, std::uint64_t compare) {
  Word old = 0;
  local_atomic_call<Word>{static_cast<Word*>(word), op, static_cast<Word>(value),
                          static_cast<Word>(compare), &old}(thread_group{});
  return old;
}

bool is_word(const void* at, std::size_t bytes) {
  return (bytes == 8 || bytes == 4) && reinterpret_cast<std::uintptr_t>(at) % bytes == 0;
}

}  // namespace

void exposed_memory::add(int region, std::uint64_t offset, std::byte* start, std::size_t size) {
  // What goes on where another piece ends makes that longer.
  for (auto& piece : pieces_)
    if (piece.region == region && piece.offset + piece.size == offset &&
        piece.start + piece.size == start) {
      piece.size += size;
      return;
    }
  pieces_.push_back({region, offset, size, start});
}

void exposed_memory::remove(int region, std::uint64_t offset, std::size_t size) {
  const piece* around = find(place_at(region, offset));
  if (!around) return;
  const piece old = *around;
  std::erase_if(pieces_, [&](const piece& each) { return each.start == old.start; });
  const std::uint64_t end = offset + size;
  const std::uint64_t old_end = old.offset + old.size;
  if (offset > old.offset) pieces_.push_back({region, old.offset, offset - old.offset, old.start});
  if (old_end > end)
    pieces_.push_back({region, end, old_end - end, old.start + (end - old.offset)});
}

void exposed_memory::write(int region, void* to, const void* from, std::size_t bytes) const {
  if (bytes == 0) return;
  if (!on_host(region)) return device_->copy(to, from, bytes);
  // A word may be a flag, which is seen whole, after what came before it.
  std::uint64_t word = 0;
  if (is_word(to, bytes)) std::memcpy(&word, from, bytes);
  if (is_word(to, 8) && bytes == 8) return store(static_cast<std::uint64_t*>(to), word, release);
  if (is_word(to, 4) && bytes == 4)
    return store(static_cast<std::uint32_t*>(to), static_cast<std::uint32_t>(word), release);
  std::memcpy(to, from, bytes);
}

void exposed_memory::read(int region, void* to, const void* from, std::size_t bytes) const {
  if (bytes == 0) return;
  if (!on_host(region)) return device_->copy(to, from, bytes);
  if (bytes == 8 && is_word(from, 8)) {
    const auto word = load(static_cast<const std::uint64_t*>(from), relaxed);
    std::memcpy(to, &word, sizeof word);
  } else if (bytes == 4 && is_word(from, 4)) {
    const auto word = load(static_cast<const std::uint32_t*>(from), relaxed);
    std::memcpy(to, &word, sizeof word);
  } else {
    std::memcpy(to, from, bytes);
  }
}

void exposed_memory::store_word(int region, void* word, std::uint64_t value) const {
  auto* to = static_cast<std::uint64_t*>(word);
  if (!on_host(region)) return device_->store(to, value);
  store(to, value, release);
}

void exposed_memory::store_twin(symmetric_place place, std::uint64_t value) const {
  if (on_host(0) || region_of(place) == 0) return;
  if (void* twin = resolve(offset_of(place), sizeof value)) store_word(0, twin, value);
}

std::uint64_t exposed_memory::atomic(int region, void* word, std::size_t bytes, atomic_op op,
                                     std::uint64_t value, std::uint64_t compare) const {
  if (!on_host(region)) return device_->atomic(word, bytes, op, value, compare);
  return bytes == 8 ? apply<std::uint64_t>(word, op, value, compare)
                    : apply<std::uint32_t>(word, op, value, compare);
}

}  // namespace heddle
