// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace heddle {

/// User's buffers whose pages have become part of a heap. A registered buffer has two addresses of
/// the same memory: the user's, and the alias in the arena, by which peers and kernels know it.
class registration {
 public:
  struct entry {
    std::byte* buffer;
    std::size_t bytes;
    std::byte* alias;
  };

  /// Throws HEDDLE_ERROR_INVALID_ARGUMENT unless [buffer, buffer + bytes) is whole pages, readable,
  /// writable and apart from what is registered.
  void require_registrable(void* buffer, std::size_t bytes) const;
  /// Moves the content to `alias` (already part of the heap, at `file_offset` of `descriptor`) and
  /// puts the heap's pages in place of the user's.
  void add(void* buffer, std::size_t bytes, std::byte* alias, int descriptor,
           std::size_t file_offset);
  /// Puts private pages with the same content back. Throws HEDDLE_ERROR_INVALID_ARGUMENT if it is
  /// not the start of a registered buffer.
  entry remove(void* buffer);
  [[nodiscard]] const entry& find(void* buffer) const;

  [[nodiscard]] bool empty() const { return entries_.empty(); }
  /// The alias of `address` if [address, address + bytes) is in a registered buffer; else null.
  [[nodiscard]] std::byte* alias_of(const void* address, std::size_t bytes) const;
  /// The registered buffer whose alias starts there; null if none does.
  [[nodiscard]] const void* buffer_of(const void* alias) const;
  /// Gives all buffers back, for the end of the runtime.
  void remove_all();

 private:
  std::map<std::uintptr_t, entry> entries_;  ///< by the buffer's start
};

}  // namespace heddle
