// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/transport/verbs/memory.hpp"

#include <algorithm>

#include "bootstrap/byte_stream.hpp"
#include "support/throw_error.hpp"

namespace heddle::verbs {

local_memory::piece local_memory::register_piece(void* start, std::size_t size, int access,
                                                 const gpu_memory* gpu) const {
  piece result;
  result.size = size;
  result.is_on_gpu = gpu != nullptr;
  for (std::size_t rail = 0; rail < domains_.size(); ++rail) {
    result.registrations.push_back(
        gpu ? register_gpu_memory(domains_[rail], ways_[rail], *gpu, start, size, access)
            : register_memory(domains_[rail], start, size, access));
    result.local_keys[rail] = result.registrations.back()->lkey;
  }
  return result;
}

transport::bytes local_memory::expose(int region, std::uint64_t offset, void* start,
                                      std::size_t size) {
  const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                     (has_atomics_ ? IBV_ACCESS_REMOTE_ATOMIC : 0);
  auto made = register_piece(start, size, access, region == 0 ? gpu_ : nullptr);
  byte_writer key;
  key.number(reinterpret_cast<std::uintptr_t>(start));
  key.number(static_cast<std::uint8_t>(made.registrations.size()));
  for (const auto& registration : made.registrations) key.number(registration->rkey);
  exposed_[{region, offset}] =
      pieces_.emplace(static_cast<const std::byte*>(start), std::move(made));
  return key.take();
}

void local_memory::conceal(int region, std::uint64_t offset) noexcept {
  const auto found = exposed_.find({region, offset});
  if (found == exposed_.end()) return;
  pieces_.erase(found->second);
  exposed_.erase(found);
}

void local_memory::register_local(void* start, std::size_t size) {
  if (local_.contains(start))
    throw_error(HEDDLE_ERROR_INTERNAL, "{} is registered for the network already", start);
  local_[start] = pieces_.emplace(static_cast<const std::byte*>(start),
                                  register_piece(start, size, IBV_ACCESS_LOCAL_WRITE, nullptr));
}

void local_memory::forget_local(void* start) noexcept {
  const auto found = local_.find(start);
  if (found == local_.end()) return;
  pieces_.erase(found->second);
  local_.erase(found);
}

const std::pair<const std::byte* const, local_memory::piece>* local_memory::piece_at(
    const void* start) const {
  const auto* from = static_cast<const std::byte*>(start);
  // Pieces seldom overlap: the nearest start below is nearly always it.
  for (auto at = pieces_.upper_bound(from); at != pieces_.begin();) {
    --at;
    if (static_cast<std::size_t>(from - at->first) < at->second.size) return &*at;
  }
  return nullptr;
}

bool local_memory::is_on_gpu(const void* start) const {
  if (!gpu_) return false;
  const auto* found = piece_at(start);
  return found && found->second.is_on_gpu;
}

local_memory::part local_memory::find(const void* start, std::size_t size) const {
  if (const auto* found = piece_at(start)) {
    const auto skipped =
        static_cast<std::size_t>(static_cast<const std::byte*>(start) - found->first);
    return {std::min(size, found->second.size - skipped), &found->second.local_keys};
  }
  throw_error(HEDDLE_ERROR_INTERNAL,
              "{} bytes at {} are the local side of a network operation, and were not registered",
              size, start);
}

void remote_memory::add(int region, std::uint64_t offset, std::size_t size,
                        std::span<const std::byte> key) try {
  byte_reader in(key);
  piece made;
  made.size = size;
  made.address = in.number<std::uint64_t>();
  const auto count = in.number<std::uint8_t>();
  if (count > made.keys.size()) throw malformed_message("it has too many keys");
  for (std::size_t rail = 0; rail < count; ++rail) made.keys[rail] = in.number<std::uint32_t>();
  // What was there before is exposed no more, in whichever pieces it was.
  std::erase_if(pieces_, [&](const auto& entry) {
    const auto& [place, one] = entry;
    return place.first == region && place.second < offset + size &&
           offset < place.second + one.size;
  });
  pieces_[{region, offset}] = made;
} catch (const malformed_message& problem) {
  throw_error(HEDDLE_ERROR_MISMATCH,
              "read a peer's key to its memory: {}; do all PEs run the same heddle?",
              problem.what());
}

remote_memory::target remote_memory::find(const remote_place& place, std::size_t size) const {
  auto at = pieces_.upper_bound({place.region, place.offset});
  if (at != pieces_.begin()) {
    --at;
    const auto skipped = place.offset - at->first.second;
    if (at->first.first == place.region && skipped <= at->second.size &&
        size <= at->second.size - skipped)
      return {at->second.address + skipped, &at->second.keys};
  }
  throw_error(HEDDLE_ERROR_INTERNAL,
              "PE {} has not exposed {} bytes at offset {} of its region {}, or not in one piece",
              place.pe, size, place.offset, place.region);
}

}  // namespace heddle::verbs
