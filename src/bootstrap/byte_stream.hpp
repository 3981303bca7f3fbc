// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace heddle {

/// Builds a message: numbers in little-endian order, texts and blocks after their 32-bit length.
class byte_writer {
 public:
  template <class Number>
  requires std::is_integral_v<Number> byte_writer& number(Number value) {
    auto bits = static_cast<std::make_unsigned_t<Number>>(value);
    for (std::size_t i = 0; i < sizeof bits; ++i)
      bytes_.push_back(static_cast<std::byte>((bits >> (8 * i)) & 0xff));
    return *this;
  }
  byte_writer& raw(std::span<const std::byte> data) {
    for (const std::byte byte : data) bytes_.push_back(byte);  // GCC 12 warns of insert at -O3
    return *this;
  }
  byte_writer& block(std::span<const std::byte> data) {
    return number(static_cast<std::uint32_t>(data.size())).raw(data);
  }
  byte_writer& text(std::string_view text) { return block(std::as_bytes(std::span(text))); }

  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }
  [[nodiscard]] std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// What byte_reader throws when a message is shorter than what it says it holds.
struct malformed_message : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Takes apart what byte_writer built. Lengths come from others, so each is checked against what is
/// there before anything is allocated.
class byte_reader {
 public:
  explicit byte_reader(std::span<const std::byte> bytes) : left_(bytes) {}

  template <class Number>
  requires std::is_integral_v<Number> Number number() {
    auto data = raw(sizeof(Number));
    std::make_unsigned_t<Number> bits = 0;
    for (std::size_t i = 0; i < sizeof bits; ++i)
      bits = static_cast<decltype(bits)>(
          bits | static_cast<decltype(bits)>(std::to_integer<std::uint64_t>(data[i]) << (8 * i)));
    return static_cast<Number>(bits);
  }
  std::span<const std::byte> raw(std::size_t size) {
    if (size > left_.size())
      throw malformed_message("message ends " + std::to_string(size - left_.size()) +
                              " bytes early");
    auto data = left_.first(size);
    left_ = left_.subspan(size);
    return data;
  }
  std::span<const std::byte> block() { return raw(number<std::uint32_t>()); }
  std::string text() {
    auto data = block();
    return {reinterpret_cast<const char*>(data.data()), data.size()};
  }

  [[nodiscard]] std::span<const std::byte> left() const { return left_; }

 private:
  std::span<const std::byte> left_;
};

}  // namespace heddle
