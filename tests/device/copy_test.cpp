// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// What one thread of a host's block copies, by each of the ways that it has.

#include <doctest/doctest.h>

#include <algorithm>
#include <heddle/device/team.hpp>
#include <vector>

using namespace heddle;

TEST_CASE("copies of every way write what they are given, and nothing beside it") {
  constexpr std::size_t room = 10'000;
  std::vector<byte> from(room), to(room), expected(room);
  for (std::size_t i = 0; i < room; ++i) from[i] = static_cast<byte>(i * 7 + i / 251);
  for (const auto how : {detail::stores::cached, detail::stores::streaming})
    for (const std::size_t bytes : {0, 1, 63, 64, 65, 511, 2047, 2048, 2049, 2111, 2303, 2304, 4095,
                                    4096, 4097, 8191, 8192, 8193})
      for (std::size_t source = 0; source < 70; source += 3)
        for (std::size_t target = 0; target < 70; target += 5) {
          CAPTURE(bytes);
          CAPTURE(source);
          CAPTURE(target);
          std::fill(to.begin(), to.end(), byte{0xee});
          expected = to;
          std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(source), bytes,
                      expected.begin() + static_cast<std::ptrdiff_t>(target));
          detail::copy(one_thread_block, to.data() + target, from.data() + source, bytes, how);
          REQUIRE(to == expected);
        }
}
