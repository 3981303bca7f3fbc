// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "symmetric_heap/block_allocator.hpp"

namespace heddle {

namespace {

constexpr std::size_t align_up(std::size_t value, std::size_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

}  // namespace

block_allocator::block_allocator(std::size_t first, std::size_t end)
    : first_(first), free_bytes_(end - first) {
  insert_free(first, end - first);
}

void block_allocator::insert_free(std::size_t offset, std::size_t bytes) {
  if (bytes == 0) return;
  free_by_offset_.emplace(offset, bytes);
  free_by_size_.emplace(bytes, offset);
}

void block_allocator::erase_free(std::map<std::size_t, std::size_t>::iterator position) {
  free_by_size_.erase({position->second, position->first});
  free_by_offset_.erase(position);
}

std::optional<std::size_t> block_allocator::allocate(std::size_t bytes, std::size_t alignment) {
  if (bytes > free_bytes_) return {};
  const std::size_t taken = align_up(bytes, granule);
  if (alignment < granule) alignment = granule;
  for (auto candidate = free_by_size_.lower_bound({taken, 0}); candidate != free_by_size_.end();
       ++candidate) {
    const auto [size, start] = *candidate;
    const std::size_t offset = align_up(start, alignment);
    if (offset - start > size - taken) continue;
    erase_free(free_by_offset_.find(start));
    insert_free(start, offset - start);
    insert_free(offset + taken, start + size - (offset + taken));
    used_.emplace(offset, block{bytes, taken});
    free_bytes_ -= taken;
    return offset;
  }
  return {};
}

bool block_allocator::free(std::size_t offset) {
  const auto found = used_.find(offset);
  if (found == used_.end()) return false;
  const std::size_t bytes = found->second.taken;
  used_.erase(found);
  release(offset, bytes);
  return true;
}

void block_allocator::shrink(std::size_t offset, std::size_t bytes) {
  block& kept = used_.at(offset);
  const std::size_t taken = align_up(bytes, granule);
  const std::size_t rest = kept.taken - taken;
  kept = {bytes, taken};
  if (rest > 0) release(offset + taken, rest);
}

/// Makes a range free, one with the free ones that it meets.
void block_allocator::release(std::size_t offset, std::size_t bytes) {
  free_bytes_ += bytes;
  auto next = free_by_offset_.lower_bound(offset);
  if (next != free_by_offset_.end() && next->first == offset + bytes) {
    bytes += next->second;
    erase_free(next);
    next = free_by_offset_.lower_bound(offset);
  }
  if (next != free_by_offset_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == offset) {
      offset = previous->first;
      bytes += previous->second;
      erase_free(previous);
    }
  }
  insert_free(offset, bytes);
}

std::optional<std::size_t> block_allocator::size_at(std::size_t offset) const {
  const auto found = used_.find(offset);
  if (found == used_.end()) return {};
  return found->second.asked;
}

std::optional<std::pair<std::size_t, std::size_t>> block_allocator::block_of(
    std::size_t offset) const {
  auto above = used_.upper_bound(offset);
  if (above == used_.begin()) return {};
  const auto& [start, block] = *std::prev(above);
  if (offset >= start + block.taken) return {};
  return std::pair(start, block.asked);
}

std::size_t block_allocator::largest_free() const {
  return free_by_size_.empty() ? 0 : free_by_size_.rbegin()->first;
}

std::size_t block_allocator::high_water() const {
  if (used_.empty()) return first_;
  const auto& [offset, block] = *used_.rbegin();
  return offset + block.taken;
}

}  // namespace heddle
