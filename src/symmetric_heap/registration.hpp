// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "symmetric_heap/heap_memory.hpp"

namespace heddle {

/// User's buffers whose memory has become part of a heap. A registered buffer has two addresses of
/// the same memory: the user's, and the alias in the arena, by which peers and kernels know it.
class registration {
 public:
  struct entry {
    std::byte* buffer;
    std::size_t bytes;
    std::byte* alias;
  };

  explicit registration(heap_memory& memory) : memory_(memory) {}

  /// Throws unless the memory can adopt [buffer, buffer + bytes) and
  /// that is apart from what is registered.
  void require_registrable(void* buffer, std::size_t bytes) const;
  /// `alias` is part of the heap already.
  void add(void* buffer, std::size_t bytes, std::byte* alias);
  /// Throws HEDDLE_ERROR_INVALID_ARGUMENT if it is not the start of a registered buffer.
  entry remove(void* buffer);
  [[nodiscard]] const entry& find(void* buffer) const;

  [[nodiscard]] bool has(void* buffer) const {
    return entries_.contains(reinterpret_cast<std::uintptr_t>(buffer));
  }
  [[nodiscard]] bool empty() const { return entries_.empty(); }
  /// The alias of `address` if [address, address + bytes) is in a registered buffer; else null.
  [[nodiscard]] std::byte* alias_of(const void* address, std::size_t bytes) const;
  /// Whether the bytes are in the alias of one buffer.
  [[nodiscard]] bool holds_alias(const void* address, std::size_t bytes) const;
  /// The registered buffer whose alias that is part of; null if there is none.
  [[nodiscard]] const void* buffer_of(const void* alias) const;
  /// Gives all buffers back, for the end of the runtime.
  void remove_all();

 private:
  heap_memory& memory_;
  std::map<std::uintptr_t, entry> entries_;  ///< by the buffer's start
};

}  // namespace heddle
