// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <heddle/device/platform.hpp>

namespace perf {

/// What put, get and put_signal move: bytes that differ from call to call without being written
/// anew. Each call takes them from another place of one array, a few cache lines further on, where
/// every byte differs. The first call has a place of its own, so what it left is told from what any
/// later call leaves.
///
///     call     0    1    2   ...   8    9   10   ...
///     place    0   64  128   ... 512   64  128   ...
class moving_source {
 public:
  /// The offset at which call 0, 1, ... begins.
  HEDDLE_FN static constexpr std::size_t place(std::uint64_t call) {
    return call == 0 ? 0 : line * (1 + (call - 1) % lines);
  }
  /// The size of the array for calls of `bytes`.
  static constexpr std::size_t bytes_for(std::size_t bytes) { return bytes + line * lines; }

  /// Each PE's source differs in every byte.
  explicit moving_source(int pe) {
    for (std::size_t i = 0; i < period; ++i)
      content_[i] =
          static_cast<unsigned char>(i * 131 + i / line * 37 + static_cast<std::size_t>(pe) * 89);
  }

  void fill(unsigned char* source, std::size_t bytes) const {
    const std::size_t all = bytes_for(bytes);
    for (std::size_t i = 0; i < all; i += period)
      std::memcpy(source + i, content_.data(), all - i < period ? all - i : period);
  }

  /// The bytes at `data` that are not what `call` has moved.
  [[nodiscard]] std::size_t count_wrong(const unsigned char* data, std::size_t bytes,
                                        std::uint64_t call) const {
    std::size_t wrong = 0;
    for (std::size_t i = 0, k = place(call); i < bytes; k = 0) {
      const std::size_t run = bytes - i < period - k ? bytes - i : period - k;
      if (std::memcmp(data + i, &content_[k], run) != 0)
        for (std::size_t j = 0; j < run; ++j) wrong += data[i + j] != content_[k + j];
      i += run;
    }
    return wrong;
  }

 private:
  static constexpr std::size_t line = 64;
  static constexpr std::size_t lines = 8;
  /// A line further on each byte is greater by 64 * 131 + 37, which is odd: no two lines of 256 are
  /// alike.
  static constexpr std::size_t period = line * 256;

  std::array<unsigned char, period> content_;
};

}  // namespace perf
