// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "symmetric_heap/block_allocator.hpp"
#include "symmetric_heap/call_checker.hpp"
#include "symmetric_heap/heap_memory.hpp"
#include "symmetric_heap/registration.hpp"

namespace heddle {

struct heap_options {
  std::size_t heap_bytes;      ///< what malloc may give out, at most
  std::size_t internal_bytes;  ///< in front of it, for the runtime: sparse, zero
  bool check = false;
  std::chrono::duration<double> timeout{300};       ///< of the collective calls
  std::chrono::duration<double> init_timeout{300};  ///< of making the heap
};

/// Makes the memory of a heap, whose first `bytes` are there on return: collective.
using heap_memory_maker = std::function<std::unique_ptr<heap_memory>(
    bootstrap& bootstrap, std::size_t bytes, std::size_t stride, deadline until)>;
std::unique_ptr<heap_memory> make_host_heap_memory(bootstrap& bootstrap, std::size_t bytes,
                                                   std::size_t stride, deadline until);
/// The same, where no PE maps another's (HEDDLE_P2P_DISABLE).
std::unique_ptr<heap_memory> make_lone_host_heap_memory(bootstrap& bootstrap, std::size_t bytes,
                                                        std::size_t stride, deadline until);

/// One PE's heap and its view of the others'. The contracts of malloc ... unregister are those of
/// heddle.h.
///
///     slot:   | internal region | blocks of malloc and register ...   | aliases         | stride
///
/// Where that memory is, and how PEs share it, is heap_memory's.
class symmetric_heap {
 public:
  /// Collective over the bootstrap's ranks.
  symmetric_heap(bootstrap& bootstrap, const heap_options& options,
                 const heap_memory_maker& make_memory = make_host_heap_memory);
  ~symmetric_heap();
  symmetric_heap(const symmetric_heap&) = delete;
  symmetric_heap& operator=(const symmetric_heap&) = delete;

  /// What ends the collective calls, the bootstrap's barrier until one is set; and what completes
  /// this PE's puts, before a barrier after which memory goes.
  void set_barrier(std::function<void()> barrier, std::function<void()> complete_puts) {
    barrier_ = std::move(barrier);
    complete_puts_ = std::move(complete_puts);
  }

  /// Told of the offsets between which this PE's heap has memory now and had none, before any PE
  /// is given some of it, and of those between which it will have none, when none uses it any more.
  struct watcher {
    std::function<void(std::size_t from, std::size_t to)> added;
    std::function<void(std::size_t from, std::size_t to)> removed;
  };
  /// HEDDLE_CHECK=1: as its own calls, for another that all PEs make through the bootstrap.
  void compare(heap_call call) { checker_.compare(call, 0); }
  void set_watcher(watcher watcher) { watcher_ = std::move(watcher); }

  void* malloc(std::size_t bytes);
  void* calloc(std::size_t count, std::size_t size);
  void* align(std::size_t alignment, std::size_t bytes);
  void* realloc(void* block, std::size_t bytes);
  void free(void* block);
  void* register_buffer(void* buffer, std::size_t bytes);
  void unregister_buffer(void* buffer);

  /// This PE's heap, which begins with the internal region.
  [[nodiscard]] std::byte* base() const { return base_; }
  /// The distance between heaps: an address in this PE's plus a multiple of it is the same in
  /// another.
  [[nodiscard]] std::size_t stride() const { return memory_->stride(); }
  [[nodiscard]] int my_slot() const { return memory_->my_slot(); }
  /// -1 for a PE whose heap is not mapped.
  [[nodiscard]] int slot_of(int pe) const { return memory_->slot_of(pe); }

  /// Whether all `bytes` at `address` are in the part of this PE's heap that is given out and has
  /// memory, on every PE, or in the alias of one buffer; with checks on, in one block.
  [[nodiscard]] bool contains(const void* address, std::size_t bytes) const {
    const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(address) - base_);
    if (offset >= first_ && offset < backed_)
      return bytes <= backed_ - offset && (!options_.check || in_one_block(offset, bytes));
    return offset < stride() && registered_.holds_alias(address, bytes);
  }
  /// What contains() spans, without aliases that are not among the blocks.
  [[nodiscard]] const std::byte* begin() const { return base_ + first_; }
  [[nodiscard]] const std::byte* end() const { return base_ + backed_; }
  /// `pe`'s copy of an object of this PE's heap; null if it is not mapped.
  [[nodiscard]] void* ptr(const void* address, int pe) const {
    const int slot = slot_of(pe);
    if (slot < 0) return nullptr;
    return memory_->slot(slot) + (static_cast<const std::byte*>(address) - base_);
  }
  /// The address in the heap of a registered buffer's part; any other address as it is.
  [[nodiscard]] const void* translate(const void* address, std::size_t bytes) const {
    if (registered_.empty() || contains(address, bytes)) return address;
    const std::byte* alias = registered_.alias_of(address, bytes);
    return alias ? alias : address;
  }
  [[nodiscard]] void* translate(void* address, std::size_t bytes) const {
    return const_cast<void*>(translate(static_cast<const void*>(address), bytes));
  }

  [[nodiscard]] heap_memory& memory() const { return *memory_; }
  [[nodiscard]] std::size_t bytes_backed() const { return backed_; }

 private:
  /// A block for a call that all PEs make; grows the memory under it.
  std::size_t allocate(const char* function, std::size_t bytes, std::size_t alignment);
  /// Sees to it that so much of every PE's heap has memory.
  void back(std::size_t bytes);
  /// The offset of the place for a buffer's alias.
  std::size_t allocate_alias(std::size_t bytes);
  void free_alias(std::size_t offset);
  /// Nobody writes any more to what goes now.
  void leave_memory() {
    complete_puts_();
    barrier_();
  }
  /// Tells the watcher of a buffer that goes.
  void conceal(const registration::entry& gone);
  /// Buffers bring their memory with them, to offsets that have none without.
  [[nodiscard]] bool aliases_add_memory() const {
    return memory_->registration_range().second > memory_->registration_range().first;
  }
  /// The offset of a block that malloc gave; throws for any other address.
  [[nodiscard]] std::size_t offset_of_block(const char* function, const void* block) const;

  [[nodiscard]] bool in_one_block(std::size_t offset, std::size_t bytes) const;

  bootstrap& bootstrap_;
  const heap_options options_;
  const std::size_t first_;  ///< where the blocks begin
  std::unique_ptr<heap_memory> memory_;
  std::byte* base_;
  std::size_t backed_;  ///< bytes from the base that have memory on every PE
  std::size_t told_;    ///< of this PE's those that watcher_ knows, or that were there before
  block_allocator blocks_;
  block_allocator aliases_;  ///< of buffers that bring their memory; empty where they do not
  registration registered_;
  call_checker checker_;
  std::function<void()> barrier_;
  std::function<void()> complete_puts_ = [] {};
  watcher watcher_;
};

}  // namespace heddle
