// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// What arrives at one command engine: frames in any order, of strangers, or of arbitrary bytes.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "engine_fixture.hpp"
#include "support/log.hpp"

namespace heddle::testing {
namespace {

TEST_CASE("frames of strangers and frames that end early change nothing") {
  fixture f;
  record_header put{};
  put.kind = record_kind::put;
  const std::vector<std::byte> data(64, std::byte{0xee});
  const auto good = frame_maker(job, 1, 1).add(put, data).bytes();
  const auto untouched = f.heap;
  f.network.arrives(frame_maker(job + 1, 1, 1).add(put, data).bytes());  // another job
  f.network.arrives(frame_maker(job, 9, 1).add(put, data).bytes());      // no such PE
  f.network.arrives(frame_maker(job, 1, 1, 5).add(put, data).bytes());   // no such lane
  f.network.arrives({good.begin(), good.begin() + 31});                  // not even a header
  f.progress(8);
  CHECK(f.heap == untouched);
  CHECK(f.failures.empty());
  f.network.arrives({good.begin(), good.end() - 8});  // a record that ends too early
  f.progress();
  CHECK(f.heap == untouched);
  REQUIRE(f.failures.size() == 1);
  CHECK(f.failures[0].first == 1);
  CHECK(f.failures[0].second.find("ends within a record") != std::string::npos);
}

TEST_CASE("a frame is carried out once, in its turn, however it comes") {
  fixture f;
  record_header add{};
  add.kind = record_kind::signal;
  add.op = static_cast<std::uint8_t>(signal_op::add);
  const auto frame = [&](std::uint32_t sequence, std::uint64_t value) {
    add.field[1] = value;
    return frame_maker(job, 1, sequence).add(add).bytes();
  };
  const auto word = [&] {
    std::uint64_t value = 0;
    std::memcpy(&value, &f.heap[fixture::guard], sizeof value);
    return value;
  };
  f.network.arrives(frame(3, 100));
  f.network.arrives(frame(2, 10));
  f.progress();
  CHECK(word() == 0);
  f.network.arrives(frame(1, 1));
  f.progress();
  CHECK(word() == 111);
  f.network.arrives(frame(2, 10));
  f.progress();
  CHECK(word() == 111);
}

TEST_CASE("of a peer that leaves a frame out no more is kept than it may send") {
  fixture f;
  const auto later = [](std::uint32_t i) { return frame_maker(job, 1, 2 + i).bytes(); };
  for (std::uint32_t i = 0; i < lane_state::window; ++i) f.network.arrives(later(i));
  f.progress(lane_state::window);
  CHECK(f.failures.empty());
  f.network.arrives(later(lane_state::window));
  f.progress();
  REQUIRE(f.failures.size() == 1);
  CHECK(f.failures[0].first == 1);
  CHECK(f.failures[0].second.find("more than 64 messages") != std::string::npos);
}

TEST_CASE("a reply counts from whom it was asked, once, and no further than was asked") {
  fixture f;
  std::vector<std::uint64_t> local(4, 5);
  auto iget = f.command_to(1, command_kind::iget);
  iget.what.local = reinterpret_cast<std::uint64_t>(&local[1]);
  iget.what.bytes = 16;
  iget.what.value = iget.what.compare = 1;
  REQUIRE(f.engine.carry_out(iget));
  f.progress();
  const std::vector<std::byte> data(16, std::byte{1});
  record_header reply{};
  reply.kind = record_kind::data_reply;
  reply.field[0] = iget.operation;
  reply.field[2] = 8;
  SUBCASE("from another PE") { f.network.arrives(frame_maker(job, 2, 1).add(reply, data).bytes()); }
  SUBCASE("elements that are not its own") {
    reply.field[1] = 1;
    f.network.arrives(frame_maker(job, 1, 1).add(reply, data).bytes());
  }
  SUBCASE("elements far away") {
    reply.field[1] = std::uint64_t{1} << 63;
    f.network.arrives(frame_maker(job, 1, 1).add(reply, data).bytes());
  }
  SUBCASE("elements of another size") {
    reply.field[2] = 4;
    f.network.arrives(frame_maker(job, 1, 1).add(reply, data).bytes());
  }
  f.progress();
  CHECK(f.failures.size() == 1);
  CHECK(local == std::vector<std::uint64_t>(4, 5));
  CHECK(f.producer.replies.empty());
}

/// Bytes near what a peer sends: numbers that are small, at an edge, or anything.
std::uint64_t some_number(std::mt19937_64& random) {
  constexpr std::uint64_t edges[] = {0,    1,    7,          8,          4088,       4095,
                                     4096, 4097, 0xffffffff, 1ull << 48, 1ull << 56, 1ull << 63};
  switch (random() % 4) {
    case 0:
      return random() % 4200;
    case 1:
      return edges[random() % std::size(edges)];
    case 2:
      return 0 - edges[random() % std::size(edges)];
    default:
      return random();
  }
}

TEST_CASE("no bytes that arrive crash the engine or write outside exposed memory") {
  const char* set = std::getenv("HEDDLE_DEV_TEST_SEED");
  const std::uint64_t seed = set ? std::strtoull(set, nullptr, 0) : std::random_device()();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  log::configure("NONE", "ALL");
  for (int round = 0; round < 3000; ++round) {
    fixture f({.name = "", .order = static_cast<transport::message_order>(random() % 3)});
    // There is something to reply to.
    std::vector<std::byte> local(64, std::byte{0x77});
    for (int i = 0; i < 3; ++i) {
      auto get = f.command_to(1, i == 0 ? command_kind::iget : command_kind::get);
      get.what.local = i == 2 ? 0 : reinterpret_cast<std::uint64_t>(local.data() + 24);
      get.what.bytes = i == 2 ? 8 : 16;
      get.what.value = get.what.compare = 1;
      (void)f.engine.carry_out(get);
    }
    f.engine.progress();
    for (std::uint32_t sequence = 1; sequence <= 4; ++sequence) {
      frame_maker frame(job, static_cast<int>(random() % 4), sequence,
                        static_cast<int>(random() % 2));
      if (random() % 8 == 0) frame.header().acknowledged = static_cast<std::uint32_t>(random() % 4);
      if (random() % 8 == 0) frame.header().sequence = static_cast<std::uint32_t>(random());
      if (random() % 8 == 0) frame.header().after_writes = static_cast<std::uint32_t>(random() % 3);
      for (auto n = random() % 4; n > 0; --n) {
        record_header record{};
        record.kind = static_cast<record_kind>(random() % 12);
        record.op = static_cast<std::uint8_t>(random() % 9);
        record.unit = static_cast<std::uint8_t>(random() % 10);
        record.has_signal = random() % 2;
        for (auto& field : record.field) field = some_number(random);
        if (random() % 2) record.field[3] = gather_shape{random() % 9, random() % 600, 0}.pack();
        if (random() % 2) record.field[0] = std::uint64_t{1} << 32 | random() % 3;  // a token
        frame.add(record, std::vector<std::byte>(random() % 80, std::byte{0xee}));
      }
      auto bytes = frame.bytes();
      if (random() % 4 == 0) bytes.resize(random() % (bytes.size() + 1));
      if (random() % 4 == 0 && !bytes.empty())
        bytes[random() % bytes.size()] ^= static_cast<std::byte>(1u << random() % 8);
      f.network.arrives(std::move(bytes));
      const auto immediate = static_cast<std::uint32_t>(random());
      f.network.happens([=](transport::listener& to) { to.on_write(immediate); });
      f.network.happens([=](transport::listener& to) { to.on_complete(immediate, immediate); });
      f.progress();
    }
    const auto outside = [](std::byte each) { return each != std::byte{0}; };
    REQUIRE(std::none_of(f.heap.begin(), f.heap.begin() + fixture::guard, outside));
    REQUIRE(std::none_of(f.heap.end() - fixture::guard, f.heap.end(), outside));
    REQUIRE(std::all_of(local.begin(), local.begin() + 24,
                        [](std::byte each) { return each == std::byte{0x77}; }));
    REQUIRE(std::all_of(local.begin() + 40, local.end(),
                        [](std::byte each) { return each == std::byte{0x77}; }));
  }
}

}  // namespace
}  // namespace heddle::testing
