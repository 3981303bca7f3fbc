// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "host/transport/tcp/inbox.hpp"
#include "host/transport/tcp/wire.hpp"
#include "support/unique_fd.hpp"

namespace heddle::tcp {

using block = std::vector<std::byte>;

/// Bytes that differ by place and salt.
inline block filled(std::size_t size, std::uint64_t salt) {
  block out(size);
  for (std::size_t i = 0; i < size; ++i)
    out[i] = static_cast<std::byte>((i * 2654435761U + salt * 40503U) >> 9);
  return out;
}

/// Two ends of a stream; with `small`, ends that take little at a time.
inline std::pair<unique_fd, unique_fd> stream_ends(bool small = false) {
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  const int little = 4608;
  for (int end : ends)
    if (small) ::setsockopt(end, SOL_SOCKET, SO_SNDBUF, &little, sizeof little);
  return {unique_fd(ends[0]), unique_fd(ends[1])};
}

/// What the socket takes of it now.
inline std::size_t feed(int socket, std::span<const std::byte> bytes) {
  const auto taken = ::send(socket, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  return taken < 0 ? 0 : static_cast<std::size_t>(taken);
}

inline void append(block& to, const operation_header& header, std::span<const std::byte> data) {
  const auto bytes = std::as_bytes(std::span(&header, 1));
  to.insert(to.end(), bytes.begin(), bytes.end());
  to.insert(to.end(), data.begin(), data.end());
}

/// An operation as it was sent, or as it has arrived.
struct operation {
  operation_header header{};
  block data;  ///< none for a read

  [[nodiscard]] std::string text() const {
    return fmt::format("kind {} region {} size {} offset {}, {} bytes",
                       static_cast<unsigned>(header.kind), header.region, header.size,
                       header.offset, data.size());
  }
  bool operator==(const operation& other) const {
    return header.kind == other.header.kind && header.region == other.header.region &&
           header.size == other.header.size && header.offset == other.header.offset &&
           data == other.data;
  }
};

/// Takes what an inbox tells. There is memory for writes (region 7, of which the guards are no
/// part) and for the data of reads that were asked for.
class memory_reader final : public inbox::reader {
 public:
  static constexpr std::uint32_t region = 7;
  static constexpr std::size_t guard = 4096;
  static constexpr std::byte guarding{0xa5};

  explicit memory_reader(std::size_t size) : memory_(size + 2 * guard, guarding), size_(size) {}

  void on_message(std::span<const std::byte> message) override {
    arrived.push_back(
        {{operation_kind::message, 0, message.size(), 0}, block(message.begin(), message.end())});
  }
  std::byte* place_of(const operation_header& header) override {
    if (header.kind == operation_kind::data) {
      if (asked.empty() || asked.front() != header.size) return nullptr;
      return memory();
    }
    if (header.region != region || header.offset > size_ || header.size > size_ - header.offset)
      return nullptr;
    return memory() + header.offset;
  }
  bool is_wanted(const operation_header&) override { return wants; }
  void on_data(const operation_header& header) override {
    const std::byte* place = place_of(header);
    if (header.kind == operation_kind::data) asked.pop_front();
    arrived.push_back({header, block(place, place + header.size)});
  }
  bool on_read(const operation_header& header) override {
    if (header.region != region || header.offset > size_ || header.size > size_ - header.offset)
      return false;
    arrived.push_back({header, {}});
    return true;
  }
  void on_goodbye() override { arrived.push_back({{operation_kind::goodbye, 0, 0, 0}, {}}); }
  [[nodiscard]] bool goes_on() const override { return true; }

  [[nodiscard]] std::byte* memory() { return memory_.data() + guard; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool guards_are_whole() const {
    const auto is_whole = [](auto begin) {
      return std::all_of(begin, begin + guard, [](std::byte each) { return each == guarding; });
    };
    return is_whole(memory_.begin()) &&
           is_whole(memory_.end() - static_cast<std::ptrdiff_t>(guard));
  }

  std::deque<operation> arrived;
  std::deque<std::uint64_t> asked;  ///< sizes of reads
  bool wants = true;

 private:
  block memory_;
  std::size_t size_;
};

}  // namespace heddle::tcp
