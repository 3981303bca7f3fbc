// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace heddle {

/// What slots, and the large blocks in them, begin on: a page of the larger size.
inline constexpr std::size_t huge_page = std::size_t{2} << 20;

/// One process's view of the heaps that it can load and store: a reservation of slots x stride,
/// with one heap in each slot. An address in one heap becomes the same object's address in another
/// by address + (slot - my slot) * stride.
class arena {
 public:
  /// Reserves addresses, no memory. Throws HEDDLE_ERROR_OUT_OF_MEMORY if there are not enough.
  arena(int slots, std::size_t stride);
  ~arena();
  arena(const arena&) = delete;
  arena& operator=(const arena&) = delete;

  /// The one arena of PEs of a host that are threads of this process: made by the first that asks,
  /// shared by the others. `name`: arena_name() of each.
  static std::shared_ptr<arena> shared_by_threads(const std::string& name, int slots,
                                                  std::size_t stride);

  /// Maps the whole stride of a slot to a file, beyond its end too: as the file grows, so does what
  /// can be touched.
  void map(int slot, int descriptor);

  [[nodiscard]] std::byte* slot(int index) const {
    return base_ + static_cast<std::size_t>(index) * stride_;
  }
  /// Whether any of the bytes is in a slot.
  [[nodiscard]] bool meets(const void* address, std::size_t bytes) const {
    const auto* first = static_cast<const std::byte*>(address);
    return first < slot(slots_) && base_ < first + bytes;
  }
  [[nodiscard]] int slots() const { return slots_; }
  [[nodiscard]] std::size_t stride() const { return stride_; }

 private:
  std::byte* base_ = nullptr;
  int slots_;
  std::size_t stride_;
};

}  // namespace heddle
