// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "symmetric_heap/registration.hpp"

#include "support/throw_error.hpp"

namespace heddle {
namespace {

std::uintptr_t address_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

}  // namespace

void registration::require_registrable(void* buffer, std::size_t bytes) const {
  const auto start = address_of(buffer);
  const auto next = entries_.lower_bound(start);
  const bool meets_next = next != entries_.end() && next->first < start + bytes;
  const bool meets_previous =
      next != entries_.begin() && std::prev(next)->first + std::prev(next)->second.bytes > start;
  if (meets_next || meets_previous)
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "heddle_register: buffer {} of {} bytes overlaps one that is registered; "
                "unregister that first",
                buffer, bytes);
  memory_.require_adoptable(buffer, bytes);
}

void registration::add(void* buffer, std::size_t bytes, std::byte* alias) {
  memory_.adopt(buffer, bytes, alias);
  entries_.emplace(address_of(buffer), entry{static_cast<std::byte*>(buffer), bytes, alias});
}

const registration::entry& registration::find(void* buffer) const {
  const auto found = entries_.find(address_of(buffer));
  if (found == entries_.end())
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "heddle_unregister: {} is not the start of a registered buffer", buffer);
  return found->second;
}

registration::entry registration::remove(void* buffer) {
  const entry gone = find(buffer);
  memory_.give_back(gone.buffer, gone.bytes, gone.alias);
  entries_.erase(address_of(buffer));
  return gone;
}

std::byte* registration::alias_of(const void* address, std::size_t bytes) const {
  const auto start = address_of(address);
  const auto above = entries_.upper_bound(start);
  if (above == entries_.begin()) return nullptr;
  const auto& [begin, entry] = *std::prev(above);
  const std::size_t offset = start - begin;
  if (offset > entry.bytes || bytes > entry.bytes - offset) return nullptr;
  return entry.alias + offset;
}

bool registration::holds_alias(const void* address, std::size_t bytes) const {
  for (const auto& [start, entry] : entries_) {
    const auto offset = address_of(address) - address_of(entry.alias);
    if (offset < entry.bytes && bytes <= entry.bytes - offset) return true;
  }
  return false;
}

const void* registration::buffer_of(const void* alias) const {
  for (const auto& [start, entry] : entries_)
    if (address_of(alias) - address_of(entry.alias) < entry.bytes) return entry.buffer;
  return nullptr;
}

void registration::remove_all() {
  while (!entries_.empty()) remove(entries_.begin()->second.buffer);
}

}  // namespace heddle
