// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace heddle::tcp {

/// What goes through a stream: operations, each a header and its data. Both sides are heddle of one
/// version and one byte order (agree_on_settings compares them).
enum class operation_kind : std::uint32_t {
  message = 1,  ///< size; data
  write,        ///< size, region, offset; data
  read,         ///< size, region, offset: asks for data, and is answered in the order of asking
  data,         ///< size; data: the answer
  goodbye       ///< the sender has no more to say
};

struct operation_header {
  operation_kind kind;
  std::uint32_t region;
  std::uint64_t size;
  std::uint64_t offset;
};
static_assert(sizeof(operation_header) == 24);

/// What a connection begins with, from the side that made it: who that is, and for which lane.
struct hello {
  static constexpr std::array<char, 8> expected_magic = {'h', 'e', 'd', 'd', 'l', 'e', 't', '1'};
  std::array<char, 8> magic;
  std::array<std::byte, 16> job_token;
  std::uint32_t lane;
  std::uint32_t address_bytes;
  std::array<std::byte, 256> address;  ///< of the sender, as its peers know it
};
static_assert(sizeof(hello) == 288);

/// What the other side says to it.
enum class answer : std::uint32_t {
  welcome = 0x656d6f63,  ///< operations may follow
  /// Both have connected to each other at the same time, and the other connection is taken.
  crossed
};

}  // namespace heddle::tcp
