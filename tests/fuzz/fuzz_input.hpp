// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <span>
#include <type_traits>

namespace heddle::fuzz {

/// What a fuzzer's bytes decide, in order. It never ends: past the last byte all numbers are 0 and
/// all blocks empty.
class fuzz_input {
 public:
  fuzz_input(const std::uint8_t* data, std::size_t size)
      : left_(reinterpret_cast<const std::byte*>(data), size) {}

  template <class Number>
  Number number() {
    std::make_unsigned_t<Number> bits = 0;
    const auto data = take(sizeof(Number));
    for (std::size_t i = 0; i < data.size(); ++i)
      bits = static_cast<decltype(bits)>(bits | std::to_integer<std::uint64_t>(data[i]) << (8 * i));
    return static_cast<Number>(bits);
  }
  /// From 0 to `most`.
  std::size_t up_to(std::uint8_t most) { return number<std::uint8_t>() % (most + 1u); }
  /// At most 255 bytes, after their number.
  std::span<const std::byte> block() { return take(number<std::uint8_t>()); }
  std::span<const std::byte> rest() { return take(left_.size()); }
  [[nodiscard]] bool has_ended() const { return left_.empty(); }

 private:
  std::span<const std::byte> take(std::size_t size) {
    const auto data = left_.first(std::min(size, left_.size()));
    left_ = left_.subspan(data.size());
    return data;
  }

  std::span<const std::byte> left_;
};

/// Ends the fuzzer, which then keeps the input, unless what must hold does.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

inline std::ptrdiff_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

}  // namespace heddle::fuzz
