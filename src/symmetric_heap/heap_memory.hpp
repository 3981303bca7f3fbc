// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace heddle {

/// The memory behind the heaps that one process can load and store: a slot of one stride for each
/// of them, in one range of addresses. Made by all PEs together; an address in one heap becomes the
/// same object's address in another by address + (slot - my slot) * stride.
class heap_memory {
 public:
  virtual ~heap_memory() = default;
  heap_memory(const heap_memory&) = delete;
  heap_memory& operator=(const heap_memory&) = delete;

  /// This PE's heap.
  [[nodiscard]] std::byte* base() const { return slot(my_slot_); }
  [[nodiscard]] std::byte* slot(int index) const {
    return start_ + static_cast<std::size_t>(index) * stride_;
  }
  [[nodiscard]] std::size_t stride() const { return stride_; }
  [[nodiscard]] int my_slot() const { return my_slot_; }
  /// -1 for a PE whose heap is not mapped.
  [[nodiscard]] int slot_of(int pe) const { return slots_[static_cast<std::size_t>(pe)]; }
  /// Whether any of the bytes is in a slot.
  [[nodiscard]] bool meets(const void* address, std::size_t bytes) const {
    const auto number = [](const void* at) { return reinterpret_cast<std::uintptr_t>(at); };
    return number(address) < number(slot(num_slots_)) && number(start_) < number(address) + bytes;
  }

  /// How much of this PE's heap, from its base, has memory. symmetric_heap::bytes_backed() is what
  /// all have.
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Grows to at least `bytes` (at most the stride). All PEs call alike. Throws
  /// HEDDLE_ERROR_OUT_OF_MEMORY if there is not so much, and then nothing has changed here.
  virtual void grow_to(std::size_t bytes) = 0;

  /// Why there is no slot for a PE's heap here; nothing for those that are mapped.
  [[nodiscard]] virtual std::string why_not_mapped(int pe) const = 0;

  /// Where the multimem instructions of a GPU reach one offset of the heaps of all PEs: at this
  /// address plus the offset, if all of the object is below multicast_size(), as the heap's own
  /// memory is at whatever size; registered buffers are not. Null where there is no multicast.
  [[nodiscard]] virtual std::byte* multicast_base() const { return nullptr; }
  [[nodiscard]] virtual std::size_t multicast_size() const { return 0; }
  /// Why there is none; the same on all PEs.
  [[nodiscard]] virtual std::string why_no_multicast() const {
    return "heaps in host memory have none";
  }

  /// Makes bytes of this PE's heap zero that were there at size `known`; what grew since is new.
  virtual void zero(std::byte* at, std::size_t bytes, std::size_t known) = 0;
  /// Makes whole pages of this PE's heap zero, and gives their memory back where that can be.
  virtual void empty(std::byte* at, std::size_t bytes) = 0;
  /// Copies within this PE's heap, apart.
  virtual void copy(std::byte* to, const std::byte* from, std::size_t bytes) = 0;

  /// An alias begins at a multiple of this, a power of two.
  [[nodiscard]] virtual std::size_t registration_unit() const = 0;
  /// The offsets of this PE's heap for aliases of buffers that bring their memory with them; empty
  /// where a buffer takes that of a block instead.
  [[nodiscard]] virtual std::pair<std::size_t, std::size_t> registration_range() const {
    return {0, 0};
  }
  /// Throws unless the buffer is memory that adopt() can take.
  virtual void require_adoptable(const void* buffer, std::size_t bytes) const = 0;
  /// Makes the buffer's content the heap's, at `alias`; both addresses are the same memory then.
  /// All PEs call alike.
  virtual void adopt(void* buffer, std::size_t bytes, std::byte* alias) = 0;
  /// Gives the buffer memory of its own again, with the same content.
  virtual void give_back(void* buffer, std::size_t bytes, const std::byte* alias) = 0;
  /// After give_back, when no PE uses any PE's alias any more: it may become another buffer's.
  virtual void vacate(const std::byte* alias) = 0;

 protected:
  heap_memory() = default;
  /// `slots`: by PE of the job, this one's among them.
  void place(std::byte* start, int num_slots, std::size_t stride, std::vector<int> slots,
             int my_pe) {
    start_ = start;
    num_slots_ = num_slots;
    stride_ = stride;
    slots_ = std::move(slots);
    my_slot_ = slots_[static_cast<std::size_t>(my_pe)];
  }
  void set_size(std::size_t bytes) { size_ = bytes; }

 private:
  std::byte* start_ = nullptr;
  int num_slots_ = 0;
  std::size_t stride_ = 0;
  std::size_t size_ = 0;
  std::vector<int> slots_;  ///< by PE
  int my_slot_ = 0;
};

}  // namespace heddle
