// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// What one command engine waits for: quiet, and answers.

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "engine_fixture.hpp"

namespace heddle::testing {
namespace {

void put_to(fixture& f, int pe, int lane = 0) {
  auto put = f.command_to(pe, command_kind::put, lane);
  put.what.flags = command::has_payload;
  CHECK(f.engine.carry_out(put));
  f.progress();
}

TEST_CASE("a quiet waits for what was posted before it, however much follows") {
  fixture f;
  put_to(f, 1);
  auto quiet = f.command_to(-1, command_kind::quiet);
  CHECK_FALSE(f.engine.carry_out(quiet));
  f.progress();
  const auto before = f.network.sent.back().header().sequence;
  put_to(f, 1);
  put_to(f, 2);
  CHECK_FALSE(f.engine.carry_out(quiet));
  f.acknowledged(1, before);
  CHECK(f.engine.carry_out(quiet));
  CHECK(f.producer.replies.size() == 1);
  // The next one is about the rest.
  auto next = f.command_to(-1, command_kind::quiet);
  CHECK_FALSE(f.engine.carry_out(next));
  f.progress();
  f.acknowledged(1, before + 2);
  CHECK_FALSE(f.engine.carry_out(next));
  f.acknowledged(2, 2);
  CHECK(f.engine.carry_out(next));
}

TEST_CASE("a quiet waits for reads that were posted before it, in whichever order they end") {
  fixture f;
  std::vector<std::byte> own(64);
  const auto get_from = [&](int pe) {
    auto get = f.command_to(pe, command_kind::get);
    get.what.flags = 0;
    get.what.local = reinterpret_cast<std::uint64_t>(own.data());
    get.what.bytes = own.size();
    if (!f.engine.carry_out(get)) {
      f.progress();
      f.network.arrives(
          frame_maker(job, pe, 1).add(piece_at(0, 0, 4096), std::vector<std::byte>(8)).bytes());
      f.progress();
      CHECK(f.engine.carry_out(get));
    }
    f.progress();
  };
  get_from(1);
  get_from(1);
  auto quiet = f.command_to(-1, command_kind::quiet);
  CHECK_FALSE(f.engine.carry_out(quiet));
  f.progress();
  f.acknowledged();
  get_from(1);
  REQUIRE(f.network.reads.size() == 3);
  for (const std::size_t done : {2, 1}) {
    f.network.completes(f.network.reads[done]);
    f.progress();
    CHECK_FALSE(f.engine.carry_out(quiet));
  }
  get_from(1);
  f.network.completes(f.network.reads[0]);
  f.progress();
  CHECK(f.engine.carry_out(quiet));
}

TEST_CASE("a quiet of everything waits for what other quiets are not about") {
  fixture f;
  auto own = f.command_to(1, command_kind::put);
  own.what.flags = command::has_payload | command::unheeded;
  CHECK(f.engine.carry_out(own));
  f.progress();
  auto quiet = f.command_to(-1, command_kind::quiet);
  CHECK(f.engine.carry_out(quiet));
  auto everything = f.command_to(-1, command_kind::quiet);
  everything.what.flags |= command::everything;
  CHECK_FALSE(f.engine.carry_out(everything));
  f.progress();
  CHECK(f.engine.awaited() == std::vector<int>{1});
  f.acknowledged();
  CHECK(f.engine.carry_out(everything));
}

TEST_CASE("a quiet of everything waits for what was posted of a put that was given up") {
  transport::traits traits;
  traits.most_message_bytes = 256;
  fixture f(traits);
  std::vector<std::byte> there(lane_state::window * traits.most_message_bytes);
  const std::vector<std::byte> own(there.size());
  f.engine.add_memory(0, 4096, there.data(), there.size());
  auto put = f.command_to(1, command_kind::put);
  put.what.remote = 4096;
  put.what.flags |= command::has_payload;
  put.what.bytes = own.size();
  put.payload[0] = own;
  CHECK_FALSE(f.engine.carry_out(put));
  f.progress();
  REQUIRE(f.sent(1, record_kind::put) == lane_state::window);
  f.producer.given_up = put.index;
  CHECK(f.engine.carry_out(put));
  auto everything = f.command_to(-1, command_kind::quiet);
  everything.what.flags |= command::everything;
  CHECK_FALSE(f.engine.carry_out(everything));
  f.progress();
  f.acknowledged();
  CHECK(f.engine.carry_out(everything));
}

TEST_CASE("who is awaited are the peers that a quiet lacks, also after it was given up") {
  fixture f;
  put_to(f, 1, 1);
  put_to(f, 2);
  auto quiet = f.command_to(-1, command_kind::quiet);
  CHECK_FALSE(f.engine.carry_out(quiet));
  f.progress();
  CHECK(f.engine.awaited() == std::vector<int>{2});
  f.producer.given_up = quiet.index;
  CHECK(f.engine.carry_out(quiet));
  CHECK(f.engine.awaited() == std::vector<int>{2});
  f.acknowledged(2, f.network.sent.back().header().sequence);
  CHECK(f.engine.awaited() == std::vector<int>{1});  // for want of a better answer
  f.acknowledged(1, 1, 1);
  CHECK(f.engine.awaited().empty());
}

TEST_CASE("of a peer no more is asked for at a time than it can keep until it leaves") {
  constexpr std::size_t size = 16 << 20;
  fixture f;
  std::vector<std::byte> there(size);
  std::vector<std::byte> own(size);
  f.engine.add_memory(0, 4096, there.data(), there.size());
  auto iget = f.command_to(1, command_kind::iget);
  iget.what.remote = 4096;
  iget.what.local = reinterpret_cast<std::uint64_t>(own.data());
  iget.what.bytes = size;
  iget.what.value = iget.what.compare = 1;
  std::size_t asked = 0;
  std::size_t seen = 0;
  std::vector<record_header> answers;
  const auto look = [&] {
    CHECK_FALSE(f.engine.carry_out(iget));
    f.progress();
    for (; seen < f.network.sent.size(); ++seen) {
      const auto& sent = f.network.sent[seen].data;
      frame_reader reader(std::span<const std::byte>(sent).subspan(sizeof(frame_header)));
      record_header record;
      std::span<const std::byte> data;
      while (reader.next(record, data)) {
        REQUIRE(record.kind == record_kind::gather);
        const auto shape = gather_shape::unpack(record.field[3]);
        asked += shape.n * shape.unit;
        record_header answer{};
        answer.kind = record_kind::data_reply;
        answer.field[0] = record.field[2];
        answer.field[1] = shape.first;
        answer.field[2] = shape.unit;
        answer.field[3] = shape.n * shape.unit;
        answers.push_back(answer);
      }
    }
  };
  look();
  const auto first = asked;
  CHECK(first >= size / 8);
  CHECK(first <= size / 4 + 4096);
  look();
  CHECK(asked == first);
  // Each answer lets as much follow.
  const std::vector<std::byte> bytes(answers[0].field[3]);
  f.network.arrives(frame_maker(job, 1, 1).add(answers[0], bytes).bytes());
  f.progress();
  look();
  CHECK(asked == first + bytes.size());
}

}  // namespace
}  // namespace heddle::testing
