// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "support/round_up.hpp"

namespace heddle {

/// What proxies say to each other, in messages of their transport: a frame is a header and records,
/// each of a header, fields and data, at multiples of 8 bytes. Both sides are heddle of one version
/// and one byte order (agree_on_settings compares them).
struct frame_header {
  std::uint64_t job;   ///< what strangers do not know
  std::uint32_t from;  ///< the sending PE, of the world
  std::uint32_t lane;
  std::uint32_t sequence;      ///< of the lane's frames, if it has records
  std::uint32_t acknowledged;  ///< the sender has handled the receiver's frames up to this one
  std::uint32_t after_writes;  ///< handled when so many writes of the lane have arrived (counted)
  std::uint16_t has_records;   ///< else it only acknowledges
  std::uint16_t wants_acknowledgement;
};
static_assert(sizeof(frame_header) == 32);

enum class record_kind : std::uint8_t {
  put = 1,       ///< place; signal's place and value, if has_signal; data
  signal,        ///< place, value
  atomic,        ///< place, value, compare, token
  scatter,       ///< place, stride and element in bytes; data
  gather,        ///< place, stride in bytes, token, gather_shape: data_reply
  abort,         ///< place, value, place of the data; data
  reply,         ///< token, value
  data_reply,    ///< token, number of the first element, bytes of an element; data
  piece_wanted,  ///< place: which piece of exposed memory is it in?
  piece          ///< place asked for; offset of its piece, size (0: none, `op` says why); key
};

/// Of a piece that there is not.
enum class no_piece : std::uint8_t {
  yet,       ///< the place is not exposed
  in_region  ///< the network does not reach that region: records do
};

struct record_header {
  record_kind kind;
  std::uint8_t op;    ///< signal_op or atomic_op
  std::uint8_t unit;  ///< bytes of a word or element
  std::uint8_t has_signal;
  std::uint32_t data_bytes;
  std::uint64_t field[4];
};
static_assert(sizeof(record_header) == 40);

/// The elements that one gather asks for, as one field.
struct gather_shape {
  static constexpr std::uint64_t most = 0xffff;  ///< elements
  std::uint64_t unit;                            ///< bytes of an element, at most 255
  std::uint64_t n;                               ///< elements, at most 65535
  std::uint64_t first;                           ///< the first one's number in the whole

  [[nodiscard]] constexpr std::uint64_t pack() const { return unit | n << 8 | first << 24; }
  static constexpr gather_shape unpack(std::uint64_t field) {
    return {field & 0xff, field >> 8 & 0xffff, field >> 24};
  }
};

/// Bytes of a record in a frame.
constexpr std::size_t record_bytes(std::size_t data_bytes) {
  return sizeof(record_header) + round_up(data_bytes, std::size_t{8});
}

/// Reads the records of a frame that anyone may have sent.
class frame_reader {
 public:
  explicit frame_reader(std::span<const std::byte> records) : rest_(records) {}

  /// False at the end, and where there is less than the record says.
  bool next(record_header& header, std::span<const std::byte>& data) {
    if (rest_.size() < sizeof header) return false;
    std::memcpy(&header, rest_.data(), sizeof header);
    if (record_bytes(header.data_bytes) > rest_.size()) return false;
    data = rest_.subspan(sizeof header, header.data_bytes);
    rest_ = rest_.subspan(record_bytes(header.data_bytes));
    return true;
  }
  /// What next() has left.
  [[nodiscard]] bool empty() const { return rest_.empty(); }

 private:
  std::span<const std::byte> rest_;
};

}  // namespace heddle
