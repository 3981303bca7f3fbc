// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// What the command engine is made of, each by itself.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "host/proxy/exposed_memory.hpp"
#include "host/proxy/frame.hpp"
#include "host/proxy/lane.hpp"
#include "host/proxy/message_row.hpp"
#include "host/proxy/token_table.hpp"

namespace heddle {
namespace {

TEST_CASE("posted_operations knows up to where all are done") {
  posted_operations writes;
  CHECK(writes.post() == 1);
  CHECK(writes.post() == 2);
  CHECK(writes.post() == 3);
  CHECK(writes.posted() == 3);
  writes.complete(2);
  CHECK(writes.done() == 0);
  writes.complete(1);
  CHECK(writes.done() == 2);
  writes.complete(3);
  CHECK(writes.done() == 3);
  CHECK(writes.post() == 4);
  CHECK(writes.done() == 3);
}

TEST_CASE("arrived_writes counts writes that overtake each other, over every wrap") {
  constexpr std::uint32_t most_ahead = arrived_writes::window / 2;  // what the engine allows
  std::mt19937 random(7);
  for (const std::uint32_t first : {0u, 4090u, 0xfffffff0u, 0x7ffffffau}) {
    arrived_writes arrived(first);
    std::vector<std::uint32_t> flying;
    std::uint32_t sent = 0, landed = 0;
    while (landed < 20'000) {
      while (flying.size() < most_ahead && sent - (arrived.prefix() - first) < most_ahead)
        flying.push_back(first + ++sent);
      const auto which = random() % flying.size();
      arrived.arrive(flying[which] & 0xfff);
      arrived.arrive(flying[which] & 0xfff);  // twice is once
      flying[which] = flying.back();
      flying.pop_back();
      ++landed;
      const auto oldest = std::min_element(flying.begin(), flying.end(),
                                           [&](auto a, auto b) { return a - first < b - first; });
      REQUIRE(arrived.prefix() - first == (oldest == flying.end() ? sent : *oldest - first - 1));
    }
  }
}

/// A row whose time is the test's.
class timed_row {
 public:
  /// How many of n messages, one each microsecond, leave, with those before them.
  int add(int n, std::size_t bytes = 8) {
    int left = 0;
    for (int i = 0; i < n; ++i) {
      const auto verdict = row.add(now, bytes);
      left += verdict != message_row::verdict::is_held;
      looks_asked_for += verdict == message_row::verdict::leaves_as_last;
      row.added(now);
      now += std::chrono::microseconds(1);
    }
    return left;
  }
  message_row row;
  message_row::clock::time_point now = message_row::clock::now();
  int looks_asked_for = 0;
};

TEST_CASE("of messages in a row the first leave at once, and the others several together") {
  constexpr int together = message_row::together;
  timed_row t;
  CHECK(t.add(16) == 16);
  CHECK(t.row.may_hold());
  CHECK(t.add(together - 1) == 0);
  CHECK(t.add(1) == 1);
  CHECK(t.add(10 * together) == 10);
  CHECK(t.looks_asked_for == 1);

  SUBCASE("after a wait, or a pause, a row begins, which soon holds what comes") {
    for (const bool waits : {true, false}) {
      if (waits) {
        t.row.over();
        t.row.sent();
      } else
        t.now += 2 * message_row::longest_gap;
      t.looks_asked_for = 0;
      CHECK(t.add(message_row::fewest_at_once) == message_row::fewest_at_once);
      CHECK(t.add(together) == 1);
      CHECK(t.looks_asked_for == 1);
    }
  }
  SUBCASE("of large ones fewer leave together") {
    constexpr std::size_t most = message_row::most_bytes_together;
    CHECK(t.add(3, most / 4) == 0);
    CHECK(t.add(1, most / 4) == 1);
    CHECK(*t.row.held() == 0);
    CHECK(t.add(1, most / 2 + 1) == 0);
    CHECK(t.add(1, most / 2) == 1);
    CHECK(t.add(10, most) == 10);
    CHECK(t.add(3, most / 4) == 0);
    t.row.sent();  // with something else
    CHECK(t.add(3, most / 4) == 0);
    CHECK(t.add(1, most / 4) == 1);
  }
  SUBCASE("a producer is told that a row is long, until it is over") {
    CHECK(*t.row.is_long() != 0);
    t.row.sent();
    CHECK(*t.row.is_long() != 0);
    t.row.over();
    CHECK(*t.row.is_long() == 0);
    CHECK(t.add(message_row::fewest_at_once - 1) == message_row::fewest_at_once - 1);
    CHECK(*t.row.is_long() == 0);
    CHECK(t.add(1) == 1);
    CHECK(*t.row.is_long() != 0);
  }
  SUBCASE("what has left with something else is not late") {
    CHECK(t.add(3) == 0);
    t.row.sent();
    t.now += 2 * message_row::longest_gap;
    t.row.sent_by_proxy(t.now);
    CHECK(t.add(message_row::fewest_at_once) == message_row::fewest_at_once);
    CHECK(t.add(together) == 1);
  }
  SUBCASE("what the proxy's thread sends in the midst of a row costs nothing") {
    CHECK(t.add(3) == 0);
    CHECK(*t.row.held() == 3);
    t.row.sent_by_proxy(t.now);
    CHECK(*t.row.held() == 0);
    CHECK(t.add(together) == 1);
  }
  SUBCASE("rows whose ends come late are to be longer, up to where none is held") {
    for (int at_once = message_row::fewest_at_once; at_once < message_row::most_at_once;) {
      t.row.over();
      CHECK(t.add(at_once) == at_once);
      CHECK(t.add(1) == 0);
      t.now += 2 * message_row::longest_gap;
      t.row.sent_by_proxy(t.now);
      CHECK_FALSE(t.row.may_hold());
      at_once = std::min(8 * at_once, message_row::most_at_once);
    }
  }
}

TEST_CASE("token_table finds what is there, by no token that was used before") {
  for (const std::uint32_t generation : {0u, 0xfffffffeu}) {
    token_table<int> table(generation);
    const auto one = table.add(1);
    const auto two = table.add(2);
    CHECK(one != 0);
    CHECK(one != two);
    CHECK(*table.find(one) == 1);
    table.remove(one);
    CHECK(table.find(one) == nullptr);
    const auto three = table.add(3);
    CHECK(three != 0);  // 0 says: none
    CHECK(three != one);
    CHECK(table.find(one) == nullptr);
    CHECK(*table.find(three) == 3);
    table.remove(three);
    const auto four = table.add(4);
    CHECK(four != 0);
    CHECK(four != three);
    CHECK(table.find(0) == nullptr);
    CHECK(table.find(~std::uint64_t{0}) == nullptr);
    std::vector<int> seen;
    table.for_each([&](std::uint64_t token, int what) {
      CHECK(*table.find(token) == what);
      seen.push_back(what);
    });
    CHECK(seen == std::vector<int>{4, 2});
  }
}

constexpr symmetric_place place(int region, std::uint64_t offset) {
  return static_cast<std::uint64_t>(region) << place_region_shift | offset;
}

TEST_CASE("exposed_memory resolves what is exposed, and not a byte beside it") {
  std::vector<std::byte> heap(4096), other(100);
  exposed_memory memory(nullptr);
  memory.add(0, 1000, heap.data(), 1000);
  memory.add(1, 0, other.data(), other.size());
  CHECK(memory.resolve(place(0, 1000), 1000) == heap.data());
  CHECK(memory.resolve(place(0, 1000), 1001) == nullptr);
  CHECK(memory.resolve(place(0, 999), 1) == nullptr);
  CHECK(memory.resolve(place(0, 2000), 0) == nullptr);
  CHECK(memory.resolve(place(0, 1999), 1) == heap.data() + 999);
  CHECK(memory.resolve(place(0, 1999), SIZE_MAX) == nullptr);
  CHECK(memory.resolve(place(0, 1500), SIZE_MAX - 100) == nullptr);
  CHECK(memory.resolve(place(1, 99), 1) == other.data() + 99);
  CHECK(memory.resolve(place(1, 1000), 1) == nullptr);
  CHECK(memory.resolve(place(255, 0), 1) == nullptr);

  SUBCASE("what goes on makes one piece of it") {
    memory.add(0, 2000, heap.data() + 1000, 500);
    CHECK(memory.resolve(place(0, 1000), 1500) == heap.data());
  }
  SUBCASE("what goes on elsewhere does not") {
    memory.add(0, 2000, heap.data() + 2000, 500);
    CHECK(memory.resolve(place(0, 1999), 2) == nullptr);
    CHECK(memory.resolve(place(0, 2000), 500) == heap.data() + 2000);
  }
}

TEST_CASE("exposed_memory carries out every atomic on both sizes") {
  exposed_memory memory(nullptr);
  alignas(8) std::uint32_t words[2] = {6, 99};
  const auto narrow = [&](atomic_op op, std::uint64_t value, std::uint64_t compare = 0) {
    return memory.atomic(0, words, 4, op, value, compare);
  };
  CHECK(narrow(atomic_op::fetch, 1) == 6);
  CHECK(narrow(atomic_op::add, 0xffffffff) == 6);
  CHECK(narrow(atomic_op::swap, 0xf0) == 5);
  CHECK(narrow(atomic_op::bit_and, 0x3c) == 0xf0);
  CHECK(narrow(atomic_op::bit_or, 0x3) == 0x30);
  CHECK(narrow(atomic_op::bit_xor, 0x1) == 0x33);
  CHECK(narrow(atomic_op::compare_swap, 7, 1) == 0x32);
  CHECK(narrow(atomic_op::compare_swap, 7, 0x32) == 0x32);
  CHECK(words[0] == 7);
  CHECK(words[1] == 99);
  std::uint64_t wide = ~std::uint64_t{0};
  CHECK(memory.atomic(0, &wide, 8, atomic_op::add, 2, 0) == ~std::uint64_t{0});
  CHECK(wide == 1);
}

TEST_CASE("frame_reader gives whole records, and says when there is less") {
  std::vector<std::byte> frame;
  const auto add = [&](std::uint32_t data_bytes, std::size_t there) {
    record_header header{};
    header.kind = record_kind::put;
    header.data_bytes = data_bytes;
    const auto at = frame.size();
    frame.resize(at + sizeof header + there, std::byte{static_cast<unsigned char>(data_bytes)});
    std::memcpy(&frame[at], &header, sizeof header);
  };
  add(0, 0);
  add(5, 8);  // in steps of 8
  record_header header;
  std::span<const std::byte> data;
  {
    frame_reader reader(frame);
    CHECK(reader.next(header, data));
    CHECK(data.empty());
    CHECK(reader.next(header, data));
    CHECK(data.size() == 5);
    CHECK(data[4] == std::byte{5});
    CHECK_FALSE(reader.next(header, data));
    CHECK(reader.empty());
  }
  for (const std::uint32_t claimed : {9u, 4096u, 0x7fffffffu, 0xffffffffu, 0xfffffff9u}) {
    auto kept = frame;
    add(claimed, 8);
    frame_reader reader(frame);
    CHECK(reader.next(header, data));
    CHECK(reader.next(header, data));
    CHECK_FALSE(reader.next(header, data));
    CHECK_FALSE(reader.empty());
    frame = kept;
  }
  frame.resize(frame.size() - 1);
  frame_reader reader(frame);
  CHECK(reader.next(header, data));
  CHECK_FALSE(reader.next(header, data));
  CHECK_FALSE(reader.empty());
}

TEST_CASE("the shape of a gather keeps its three numbers") {
  for (const gather_shape shape : {gather_shape{255, 65535, (std::uint64_t{1} << 40) - 1},
                                   gather_shape{1, 0, 0}, gather_shape{8, 1, 3}}) {
    const auto [unit, n, first] = gather_shape::unpack(shape.pack());
    CHECK(unit == shape.unit);
    CHECK(n == shape.n);
    CHECK(first == shape.first);
  }
}

}  // namespace
}  // namespace heddle
