// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace heddle {

/// Divides a range of offsets [first, end) into blocks. Deterministic: the same calls give the same
/// offsets, whatever the process. Best fit, the lowest offset among equals, neighbours merged when
/// freed; O(log n), but that an alignment above the granule may look at every free block that is
/// large enough. All book-keeping is outside the memory that it divides, which it never touches.
class block_allocator {
 public:
  static constexpr std::size_t granule = 64;  ///< sizes and offsets are multiples of it

  block_allocator(std::size_t first, std::size_t end);

  /// The offset of a block of at least `bytes` (> 0), aligned to a power of two; nothing if none
  /// fits.
  std::optional<std::size_t> allocate(std::size_t bytes, std::size_t alignment);
  /// False if no block starts there.
  bool free(std::size_t offset);
  /// Frees what the block that starts there has beyond its first `bytes` (> 0).
  void shrink(std::size_t offset, std::size_t bytes);
  /// The size of the block that starts there, as it was asked for, if one does.
  [[nodiscard]] std::optional<std::size_t> size_at(std::size_t offset) const;
  /// The block that contains the offset, as (offset, size), if one does.
  [[nodiscard]] std::optional<std::pair<std::size_t, std::size_t>> block_of(
      std::size_t offset) const;

  [[nodiscard]] std::size_t free_bytes() const { return free_bytes_; }
  [[nodiscard]] std::size_t largest_free() const;
  /// The end of the highest block: what has to be backed by memory.
  [[nodiscard]] std::size_t high_water() const;

 private:
  struct block {
    std::size_t asked;
    std::size_t taken;
  };
  void release(std::size_t offset, std::size_t bytes);
  void insert_free(std::size_t offset, std::size_t bytes);
  void erase_free(std::map<std::size_t, std::size_t>::iterator position);

  std::size_t first_;
  std::size_t free_bytes_;
  std::map<std::size_t, block> used_;                           ///< by offset
  std::map<std::size_t, std::size_t> free_by_offset_;           ///< offset -> bytes
  std::set<std::pair<std::size_t, std::size_t>> free_by_size_;  ///< (bytes, offset)
};

}  // namespace heddle
