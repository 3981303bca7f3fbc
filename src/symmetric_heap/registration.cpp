// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "symmetric_heap/registration.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "support/throw_error.hpp"

namespace heddle {

namespace {

constexpr std::size_t page = 4096;

std::uintptr_t address_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

/// Whether the whole range is mapped for reading and writing, as the system tells.
bool is_writable(std::uintptr_t begin, std::uintptr_t end) {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (begin < end && std::getline(maps, line)) {
    std::istringstream fields(line);
    std::uintptr_t from = 0;
    std::uintptr_t to = 0;
    char dash = 0;
    std::string rights;
    fields >> std::hex >> from >> dash >> to >> rights;
    if (to <= begin) continue;
    if (from > begin || rights.size() < 2 || rights[0] != 'r' || rights[1] != 'w') return false;
    begin = to;
  }
  return begin >= end;
}

}  // namespace

void registration::require_registrable(void* buffer, std::size_t bytes) const {
  const auto start = address_of(buffer);
  if (!buffer || bytes == 0 || start % page != 0 || bytes % page != 0)
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "heddle_register: buffer {} of {} bytes; both must be multiples of the page size "
                "{} and not 0 "
                "(aligned_alloc({}, ...) gives such memory)",
                buffer, bytes, page, page);
  const auto next = entries_.lower_bound(start);
  const bool meets_next = next != entries_.end() && next->first < start + bytes;
  const bool meets_previous =
      next != entries_.begin() && std::prev(next)->first + std::prev(next)->second.bytes > start;
  if (meets_next || meets_previous)
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "heddle_register: buffer {} of {} bytes overlaps one that is registered; "
                "unregister that first",
                buffer, bytes);
  if (!is_writable(start, start + bytes))
    throw_error(HEDDLE_ERROR_INVALID_ARGUMENT,
                "heddle_register: buffer {} of {} bytes is not all readable and writable memory",
                buffer, bytes);
}

void registration::add(void* buffer, std::size_t bytes, std::byte* alias, int descriptor,
                       std::size_t file_offset) {
  std::memcpy(alias, buffer, bytes);
  if (::mmap(buffer, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor,
             static_cast<off_t>(file_offset)) == MAP_FAILED)
    throw_system_error(errno, "heddle_register: putting the heap's pages at {}", buffer);
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
  // New pages are filled beside the buffer and moved over it, so that it has its content at any
  // time.
  void* fresh =
      ::mmap(nullptr, gone.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (fresh == MAP_FAILED)
    throw_error(HEDDLE_ERROR_OUT_OF_MEMORY,
                "heddle_unregister: no memory for the {} bytes of {}: {}", gone.bytes, buffer,
                std::generic_category().message(errno));
  std::memcpy(fresh, gone.alias, gone.bytes);
  if (::mremap(fresh, gone.bytes, gone.bytes, MREMAP_MAYMOVE | MREMAP_FIXED, buffer) ==
      MAP_FAILED) {
    const int failure = errno;
    ::munmap(fresh, gone.bytes);
    throw_system_error(failure, "heddle_unregister: giving {} its own pages", buffer);
  }
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

const void* registration::buffer_of(const void* alias) const {
  for (const auto& [start, entry] : entries_)
    if (entry.alias == alias) return entry.buffer;
  return nullptr;
}

void registration::remove_all() {
  while (!entries_.empty()) remove(entries_.begin()->second.buffer);
}

}  // namespace heddle
