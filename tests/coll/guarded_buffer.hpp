// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <vector>

#include "device/local_team.hpp"

/// What kernels that move bytes are tested with.
namespace heddle::testing {

inline byte byte_of(unsigned call, int pe, std::size_t i) {
  return static_cast<byte>((static_cast<std::uint32_t>(i) * 2654435761u + call * 7919u +
                            static_cast<std::uint32_t>(pe) * 131u) >>
                           13);
}

/// A buffer of the heap, or of the PE's own, with a guard behind it.
class buffer {
 public:
  buffer(const local_team& team, int pe, std::size_t offset, std::size_t bytes, bool symmetric)
      : bytes_(bytes), own_(symmetric ? 0 : bytes + 1) {
    data_ = symmetric ? team.user<byte>(pe, offset) : own_.data();
    std::memset(data_, 0xee, bytes + 1);
  }
  [[nodiscard]] byte* data() { return data_; }
  void fill(unsigned call, int pe) {
    for (std::size_t i = 0; i < bytes_; ++i) data_[i] = byte_of(call, pe, i);
  }
  [[nodiscard]] bool has(unsigned call, int pe, std::size_t at, std::size_t bytes) const {
    for (std::size_t i = 0; i < bytes; ++i)
      if (data_[at + i] != byte_of(call, pe, i)) return false;
    return data_[bytes_] == 0xee;
  }

 private:
  std::size_t bytes_;
  std::vector<byte> own_;
  byte* data_;
};

/// Which PE has its buffers in the heap.
enum class memory { symmetric, own, mixed };
inline bool is_symmetric(memory where, int pe, unsigned call) {
  return where == memory::symmetric ||
         (where == memory::mixed && (static_cast<unsigned>(pe) + call) % 2 == 0);
}

}  // namespace heddle::testing
