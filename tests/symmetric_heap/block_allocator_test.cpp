// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "symmetric_heap/block_allocator.hpp"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <vector>

using heddle::block_allocator;

TEST_CASE(
    "the same calls give the same offsets, blocks never overlap, and all that is freed can be had "
    "again") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    constexpr std::size_t first = 4096;
    constexpr std::size_t end = first + (std::size_t{1} << 20);
    block_allocator blocks(first, end);
    block_allocator twin(first, end);
    std::map<std::size_t, std::size_t> reference;  // offset -> bytes
    std::mt19937 random(seed);
    for (int step = 0; step < 2000; ++step) {
      if (random() % 3 != 0 || reference.empty()) {
        const std::size_t bytes = 1 + random() % (random() % 10 == 0 ? 100'000 : 2000);
        const std::size_t alignment = std::size_t{1} << (random() % 13);
        const auto offset = blocks.allocate(bytes, alignment);
        REQUIRE(twin.allocate(bytes, alignment) == offset);
        if (!offset) {
          CHECK(blocks.largest_free() < bytes + alignment + block_allocator::granule);
          continue;
        }
        CHECK(*offset % alignment == 0);
        CHECK(*offset % block_allocator::granule == 0);
        CHECK(*offset >= first);
        CHECK(*offset + bytes <= end);
        const auto next = reference.lower_bound(*offset);
        if (next != reference.end()) CHECK(*offset + bytes <= next->first);
        if (next != reference.begin())
          CHECK(std::prev(next)->first + std::prev(next)->second <= *offset);
        reference.emplace(*offset, bytes);
        CHECK(blocks.size_at(*offset) == bytes);
        CHECK(blocks.high_water() >= *offset + bytes);
      } else {
        auto victim = reference.begin();
        std::advance(victim, static_cast<long>(random() % reference.size()));
        if (victim->second > 1) {
          const auto around = blocks.block_of(victim->first + victim->second / 2);
          REQUIRE(around);
          CHECK(around->first == victim->first);
        }
        if (random() % 4 == 0) {
          victim->second = 1 + random() % victim->second;
          blocks.shrink(victim->first, victim->second);
          twin.shrink(victim->first, victim->second);
          CHECK(blocks.size_at(victim->first) == victim->second);
          continue;
        }
        CHECK(blocks.free(victim->first));
        CHECK(twin.free(victim->first));
        CHECK_FALSE(blocks.free(victim->first));
        reference.erase(victim);
      }
    }
    for (const auto& [offset, bytes] : reference) CHECK(blocks.free(offset));
    CHECK(blocks.free_bytes() == end - first);
    CHECK(blocks.largest_free() == end - first);
    CHECK(blocks.allocate(end - first, 1) == first);
  }
}

TEST_CASE("what does not fit is refused, and nothing is lost") {
  block_allocator blocks(0, 1024);
  CHECK_FALSE(blocks.allocate(1025, 1));
  const auto low = blocks.allocate(64, 1);
  const auto high = blocks.allocate(64, 512);
  CHECK(low == 0);
  CHECK(high == 512);
  CHECK_FALSE(blocks.allocate(512, 1));
  CHECK(blocks.largest_free() == 448);
  CHECK(blocks.free_bytes() == 1024 - 128);
  CHECK_FALSE(blocks.free(32));
}
