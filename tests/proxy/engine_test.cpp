// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// One command engine, whose network and peers are told by the test.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "engine_fixture.hpp"
#include "host/proxy/command_queue.hpp"

namespace heddle::testing {
namespace {

/// A device's memory, which the engine reaches by this alone.
class counted_memory final : public device_memory {
 public:
  void copy(void* to, const void* from, std::size_t bytes) const override {
    std::memcpy(to, from, bytes);
    ++copies;
  }
  void store(std::uint64_t* word, std::uint64_t value) const override { *word = value; }
  std::uint64_t atomic(void*, std::size_t, atomic_op, std::uint64_t, std::uint64_t) const override {
    return 0;
  }
  void flush() const override { ++flushes; }
  mutable int copies = 0;
  mutable int flushes = 0;
};

record_header fetch(std::uint64_t token) {
  record_header record{};
  record.kind = record_kind::atomic;
  record.op = static_cast<std::uint8_t>(atomic_op::fetch);
  record.unit = 8;
  record.field[3] = token;
  return record;
}

TEST_CASE("replies that one peer takes no messages for do not hold up another's") {
  fixture f;
  f.network.no_room = {1};
  f.network.arrives(frame_maker(job, 1, 1).add(fetch(7)).bytes());
  f.progress();
  CHECK(f.sent(1, record_kind::reply) == 0);
  f.network.no_room = {1, 2};
  f.network.arrives(frame_maker(job, 2, 1).add(fetch(8)).bytes());
  f.progress();
  f.network.no_room = {1};
  f.progress();
  CHECK(f.sent(2, record_kind::reply) == 1);
  f.network.no_room = {};
  f.progress();
  CHECK(f.sent(1, record_kind::reply) == 1);
}

TEST_CASE("a command without data carries none of the command's before it") {
  // The frame ends where the second record does: AddressSanitizer sees what goes beyond.
  const std::array<std::uint64_t, 20> data{1, 2, 3};
  transport::traits traits;
  traits.most_message_bytes = sizeof(frame_header) + record_bytes(sizeof data) + record_bytes(0);
  fixture f(traits);
  const auto shared = std::make_unique<command_queue::shared_words>();
  command_queue_ref::head_words head{};
  const command_queue_ref posts{&head, &shared->consumed, shared->ring, shared->replies};
  command_queue queue(*shared, 0);
  command what{};
  what.pe = 1;
  what.kind = command_kind::put;
  what.flags = command::has_payload;
  what.bytes = sizeof data;
  posts.submit(posts.try_take(sizeof data), what, data.data());
  what = {};
  what.pe = 1;
  what.kind = command_kind::abort;
  posts.submit(posts.try_take(0), what, nullptr);
  CHECK(queue.consume(f.engine, 2));
  f.progress();
  REQUIRE(f.network.sent.size() == 1);
  const auto& frame = f.network.sent.front();
  CHECK(frame.kinds() == std::vector{record_kind::put, record_kind::abort});
  CHECK(frame.data.size() == traits.most_message_bytes);
}

TEST_CASE("what was kept for lack of room is sent in the same step that finds room") {
  fixture f;
  f.network.no_room = {1};
  f.network.arrives(frame_maker(job, 1, 1).add(fetch(7)).bytes());
  f.progress();
  CHECK(f.engine.was_refused());
  f.network.no_room = {};
  f.engine.forget_refusals();
  f.engine.progress();
  // Nothing is left for which no event would come.
  CHECK((f.sent(1, record_kind::reply) == 1 || f.engine.was_refused()));
}

TEST_CASE("what waits for an acknowledgement is not tried again of its own accord") {
  fixture f;
  auto add = f.command_to(1, command_kind::atomic);
  add.what.flags = 0;
  add.what.op = static_cast<std::uint8_t>(atomic_op::add);
  REQUIRE(f.engine.carry_out(add));
  auto quiet = f.command_to(-1, command_kind::quiet);
  f.progress();
  for (int i = 0; i < 3; ++i) {
    CHECK_FALSE(f.engine.carry_out(quiet));
    f.progress();
  }
  CHECK_FALSE(f.engine.was_refused());

  // What finds no room is.
  auto other = f.command_to(2, command_kind::atomic, 1);
  other.what.flags = 0;
  other.what.op = add.what.op;
  f.network.no_room = {2};
  CHECK_FALSE(f.engine.carry_out(other));
  CHECK(f.engine.was_refused());
  f.engine.forget_refusals();
  f.network.no_room = {};
  CHECK(f.engine.carry_out(other));
  CHECK_FALSE(f.engine.was_refused());

  frame_maker acknowledges(job, 1, 0);
  acknowledges.header().has_records = 0;
  acknowledges.header().acknowledged = 2;
  f.network.arrives(acknowledges.bytes());
  f.progress();
  CHECK(f.engine.carry_out(quiet));
}

TEST_CASE("a peer is asked once for each place, whoever waits for it") {
  fixture f;
  std::vector<std::byte> local(3000);
  std::vector<command_engine::active_command> waiting;
  for (int i = 0; i < 2; ++i) {
    auto get = f.command_to(1, command_kind::get, i);
    get.what.local = reinterpret_cast<std::uint64_t>(local.data());
    get.what.remote = static_cast<std::uint64_t>(i) * 100;
    get.what.bytes = 3000;
    waiting.push_back(get);
  }
  for (int i = 0; i < 20; ++i) {
    for (auto& each : waiting) CHECK_FALSE(f.engine.carry_out(each));
    f.engine.progress();
  }
  CHECK(f.sent(1, record_kind::piece_wanted) == 2);

  // One answer serves both; the other is nothing new.
  record_header piece{};
  piece.kind = record_kind::piece;
  piece.field[2] = 4096;
  const std::vector<std::byte> key(8);
  f.network.arrives(frame_maker(job, 1, 1).add(piece, key).bytes());
  f.progress();
  for (auto& each : waiting) CHECK(f.engine.carry_out(each));
  CHECK(f.network.reads.size() == 2);
  piece.field[0] = 100;
  f.network.arrives(frame_maker(job, 1, 2).add(piece, key).bytes());
  f.progress();
  CHECK(f.network.remotes == 1);

  // What nobody asked for is not believed.
  piece.field[0] = 2000;
  f.network.arrives(frame_maker(job, 1, 3).add(piece, key).bytes());
  f.progress();
  CHECK(f.network.remotes == 1);
}

TEST_CASE("on an ordered network a large put after a fence leaves after the small ones before it") {
  transport::traits traits;
  traits.is_ordered = true;
  fixture f(traits);
  std::vector<std::byte> local(3000);
  std::size_t sent_before_write = 0;
  f.network.when_post = [&] { sent_before_write = f.network.sent.size(); };
  const auto put = [&](std::size_t bytes) {
    auto out = f.command_to(1, command_kind::put);
    out.what.local = reinterpret_cast<std::uint64_t>(local.data());
    out.what.bytes = bytes;
    return out;
  };
  const auto learn = [&] {
    record_header piece{};
    piece.kind = record_kind::piece;
    piece.field[2] = 4096;
    f.network.arrives(frame_maker(job, 1, 1).add(piece, std::vector<std::byte>(8)).bytes());
    f.progress();
  };
  auto large = put(3000);
  CHECK_FALSE(f.engine.carry_out(large));
  f.progress();
  learn();
  CHECK(f.engine.carry_out(large));
  f.progress();

  // All of these in one step, as a proxy's thread takes them from the queue.
  const auto before = f.network.sent.size();
  auto small = put(8);
  auto fence = f.command_to(-1, command_kind::fence);
  auto next = put(3000);
  CHECK(f.engine.carry_out(small));
  CHECK(f.engine.carry_out(fence));
  CHECK(f.engine.carry_out(next));
  CHECK(sent_before_write == before + 1);
  // Without a fence between them they may leave in any order, and small ones together.
  auto another = put(8);
  CHECK(f.engine.carry_out(another));
  auto last = put(3000);
  CHECK(f.engine.carry_out(last));
  CHECK(sent_before_write == before + 1);
}

TEST_CASE("memory of a device that no network reaches is reached by records, whatever the size") {
  const counted_memory device;
  fixture f({}, &device);
  std::vector<std::byte> local(100'000);
  std::vector<std::byte> heap(200'000);
  f.engine.add_memory(0, 4096, heap.data(), heap.size());
  auto put = f.command_to(1, command_kind::put);
  put.what.local = reinterpret_cast<std::uint64_t>(local.data());
  put.what.remote = 4096;
  put.what.bytes = local.size();
  auto get = f.command_to(2, command_kind::get);
  get.what.local = reinterpret_cast<std::uint64_t>(local.data());
  get.what.remote = 4096;
  get.what.bytes = local.size();
  CHECK_FALSE(f.engine.carry_out(put));
  CHECK_FALSE(f.engine.carry_out(get));
  f.progress();
  // Each peer says so of itself; as this PE does.
  record_header none{};
  none.kind = record_kind::piece;
  none.op = static_cast<std::uint8_t>(no_piece::in_region);
  none.field[0] = 4096;
  record_header asked{};
  asked.kind = record_kind::piece_wanted;
  f.network.arrives(frame_maker(job, 1, 1).add(none).add(asked).bytes());
  f.network.arrives(frame_maker(job, 2, 1).add(none).bytes());
  f.progress();
  CHECK(f.sent(1, record_kind::piece) == 1);
  CHECK(f.network.exposed == 0);
  CHECK(f.engine.carry_out(put));
  CHECK(f.engine.carry_out(get));
  f.progress();
  CHECK(f.network.writes.empty());
  CHECK(f.network.reads.empty());
  const auto most = static_cast<int>(transport::traits().most_message_bytes);
  CHECK(f.sent(1, record_kind::put) > 100'000 / most);
  CHECK(f.sent(2, record_kind::gather) > 100'000 / most);
  CHECK(f.sent(1, record_kind::put) < 100'000 / most + 5);
  // The answer to the second part of the get: one copy.
  std::uint64_t operation = 0;
  std::uint64_t first = 0;
  std::uint64_t n = 0;
  for (const auto& each : f.network.sent) {
    frame_reader reader(std::span<const std::byte>(each.data).subspan(sizeof(frame_header)));
    record_header record;
    std::span<const std::byte> rest;
    while (reader.next(record, rest))
      if (record.kind == record_kind::gather && first == 0) {
        operation = record.field[2];
        const auto shape = gather_shape::unpack(record.field[3]);
        first = shape.first;
        n = shape.n;
      }
  }
  record_header answer{};
  answer.kind = record_kind::data_reply;
  answer.field[0] = operation;
  answer.field[1] = first;
  answer.field[2] = 1;
  const std::vector<std::byte> data(n, std::byte{7});
  const int copies = device.copies;
  f.network.arrives(frame_maker(job, 2, 2).add(answer, data).bytes());
  f.progress();
  CHECK(device.copies == copies + 1);
  CHECK(local[first - 1] == std::byte{0});
  CHECK(local[first] == std::byte{7});
  CHECK(local[first + n - 1] == std::byte{7});
  CHECK(local[first + n] == std::byte{0});
  CHECK(f.failures.empty());
}

TEST_CASE("what a network writes to a device is flushed before a record tells of it") {
  const counted_memory device;
  fixture f({.name = {}, .needs_registered_local = true, .reaches_gpu = true}, &device);
  CHECK(f.network.exposed == 1);
  record_header told{};
  told.kind = record_kind::signal;
  f.network.arrives(frame_maker(job, 1, 1).add(told).bytes());
  f.progress();
  CHECK(device.flushes == 1);

  // A get straight into the device's memory, and one into other memory, over a chunk of staging.
  std::vector<std::byte> local(3000);
  auto direct = f.command_to(1, command_kind::get);
  direct.what.local = reinterpret_cast<std::uint64_t>(f.heap.data() + f.guard);
  direct.what.bytes = 3000;
  auto staged = direct;
  staged.index = ++f.last_index;
  staged.what.local = reinterpret_cast<std::uint64_t>(local.data());
  CHECK_FALSE(f.engine.carry_out(direct));
  record_header piece{};
  piece.kind = record_kind::piece;
  piece.field[2] = 4096;
  f.progress();
  f.network.arrives(frame_maker(job, 1, 2).add(piece, std::vector<std::byte>(8)).bytes());
  f.progress();
  CHECK(f.engine.carry_out(direct));
  CHECK(f.engine.carry_out(staged));
  REQUIRE(f.network.reads.size() == 2);
  const int flushes = device.flushes;
  f.network.completes(f.network.reads[0]);
  f.progress();
  CHECK(device.flushes == flushes + 1);
  CHECK(device.copies == 0);
  f.network.completes(f.network.reads[1]);
  f.progress();
  CHECK(device.flushes == flushes + 1);
  CHECK(device.copies == 1);
  CHECK(f.producer.replies.size() == 2);
}

TEST_CASE("a put that the network can write in part is replied to when that part is done") {
  const counted_memory device;
  fixture f({.name = {}, .completion_is_delivery = true, .reaches_gpu = true}, &device);
  std::vector<std::byte> heap(200'000);
  f.engine.add_memory(0, 4096, heap.data(), heap.size());
  f.engine.expose(0, 4096, heap.data(), heap.size());
  auto put = f.command_to(1, command_kind::put);
  put.what.local = reinterpret_cast<std::uint64_t>(heap.data());
  put.what.remote = 4096;
  put.what.bytes = 100'000;
  const std::vector<std::byte> key(8);
  CHECK_FALSE(f.engine.carry_out(put));
  f.progress();
  f.network.arrives(frame_maker(job, 1, 1).add(piece_at(4096, 4096, 50'000), key).bytes());
  f.progress();
  CHECK_FALSE(f.engine.carry_out(put));
  REQUIRE(f.network.writes.size() == 1);
  auto none = piece_at(54'096, 0, 0);
  none.op = static_cast<std::uint8_t>(no_piece::in_region);
  f.progress();
  f.network.arrives(frame_maker(job, 1, 2).add(none).bytes());
  f.progress();
  CHECK(f.engine.carry_out(put));
  CHECK(f.sent(1, record_kind::put) >= 50'000 / 4096);
  CHECK(f.producer.replies.empty());
  f.network.completes(f.network.writes[0]);
  f.progress();
  CHECK(f.producer.replies.size() == 1);
}

TEST_CASE("quiet after writes to a device's memory waits until the peer has flushed them") {
  const counted_memory device;
  fixture f({.name = {}, .completion_is_delivery = true, .reaches_gpu = true}, &device);
  auto put = f.command_to(1, command_kind::put);
  put.what.local = reinterpret_cast<std::uint64_t>(f.heap.data() + f.guard);
  put.what.bytes = 4000;
  CHECK_FALSE(f.engine.carry_out(put));
  f.progress();
  f.network.arrives(
      frame_maker(job, 1, 1).add(piece_at(0, 0, 4096), std::vector<std::byte>(8)).bytes());
  f.progress();
  CHECK(f.engine.carry_out(put));
  REQUIRE(f.network.writes.size() == 1);
  f.network.completes(f.network.writes[0]);
  f.progress();
  CHECK(f.producer.replies.size() == 1);
  auto quiet = f.command_to(-1, command_kind::quiet);
  CHECK_FALSE(f.engine.carry_out(quiet));
  f.progress();
  CHECK_FALSE(f.engine.carry_out(quiet));
  REQUIRE(f.network.sent.back().header().wants_acknowledgement == 1);
  f.acknowledged();
  CHECK(f.engine.carry_out(quiet));
  CHECK(f.producer.replies.size() == 2);
}

TEST_CASE("a frame that may overtake a write to a device's memory does not tell of its flush") {
  const counted_memory device;
  fixture f({.name = {}, .order = transport::message_order::after_completions, .reaches_gpu = true},
            &device);
  auto put = f.command_to(1, command_kind::put);
  put.what.local = reinterpret_cast<std::uint64_t>(f.heap.data() + f.guard);
  put.what.bytes = 4000;
  CHECK_FALSE(f.engine.carry_out(put));
  f.progress();
  f.network.arrives(
      frame_maker(job, 1, 1).add(piece_at(0, 0, 4096), std::vector<std::byte>(8)).bytes());
  f.progress();
  auto before = f.command_to(1, command_kind::signal);
  before.what.flags = 0;
  CHECK(f.engine.carry_out(before));
  CHECK(f.engine.carry_out(put));
  f.progress();
  CHECK(f.sent(1, record_kind::signal) == 1);
  f.acknowledged();
  REQUIRE(f.network.writes.size() == 1);
  f.network.completes(f.network.writes[0]);
  f.progress();
  auto quiet = f.command_to(-1, command_kind::quiet);
  CHECK_FALSE(f.engine.carry_out(quiet));
  f.progress();
  CHECK(f.network.sent.back().header().wants_acknowledgement == 1);
  f.acknowledged();
  CHECK(f.engine.carry_out(quiet));
}

TEST_CASE("memory of a device that its card is not let at after all is reached by records") {
  const counted_memory device;
  fixture f({.name = {}, .reaches_gpu = true}, &device, true);
  CHECK(f.network.exposed == 0);
  CHECK(f.failures.empty());
  record_header asked{};
  asked.kind = record_kind::piece_wanted;
  f.network.arrives(frame_maker(job, 1, 1).add(asked).bytes());
  f.progress();
  REQUIRE(f.sent(1, record_kind::piece) == 1);
  frame_reader reader(
      std::span<const std::byte>(f.network.sent.back().data).subspan(sizeof(frame_header)));
  record_header answer;
  std::span<const std::byte> key;
  REQUIRE(reader.next(answer, key));
  CHECK(answer.op == static_cast<std::uint8_t>(no_piece::in_region));
  CHECK(answer.field[2] == 0);
}

TEST_CASE("a peer that leaves is missed by those who wait for it, and by nobody else") {
  fixture f;
  auto asked = f.command_to(1, command_kind::atomic);
  auto silent = f.command_to(2, command_kind::signal);
  silent.what.flags = command::unheeded;
  CHECK(f.engine.carry_out(asked));
  CHECK(f.engine.carry_out(silent));
  f.progress();
  f.network.happens([](transport::listener& to) { to.on_left(2); });
  f.progress();
  CHECK(f.failures.empty());
  f.network.happens([](transport::listener& to) { to.on_left(1); });
  f.progress();
  REQUIRE(f.failures.size() == 1);
  CHECK(f.failures[0].first == 1);
  CHECK(f.failures[0].second.find("has left the job") != std::string::npos);
  // What comes later is missed if somebody heeds it.
  CHECK(f.engine.carry_out(silent));
  CHECK(f.failures.size() == 1);
  auto heeded = f.command_to(2, command_kind::put);
  heeded.what.bytes = 8;
  heeded.what.local = reinterpret_cast<std::uint64_t>(f.heap.data());
  CHECK(f.engine.carry_out(heeded));
  CHECK(f.failures.size() == 2);
  CHECK(f.failures[1].first == 2);
}

TEST_CASE("a peer that leaves while the network reads its memory is missed by quiet") {
  fixture f;
  std::vector<std::byte> local(3000);
  const auto get_from = [&](int pe) {
    auto get = f.command_to(pe, command_kind::get);
    get.what.flags = 0;
    get.what.local = reinterpret_cast<std::uint64_t>(local.data());
    get.what.bytes = local.size();
    CHECK_FALSE(f.engine.carry_out(get));
    f.progress();
    auto answer = frame_maker(job, pe, 1);
    answer.add(piece_at(0, 0, 4096), std::vector<std::byte>(8));
    answer.header().acknowledged = f.network.sent.back().header().sequence;
    f.network.arrives(answer.bytes());
    f.progress();
    CHECK(f.engine.carry_out(get));
  };
  get_from(1);
  get_from(2);
  REQUIRE(f.network.reads.size() == 2);
  f.network.completes(f.network.reads[1]);
  // The other one's answer came before it left.
  f.network.happens([](transport::listener& to) { to.on_left(2); });
  f.progress();
  CHECK(f.failures.empty());
  auto quiet = f.command_to(-1, command_kind::quiet);
  CHECK_FALSE(f.engine.carry_out(quiet));
  f.network.happens([](transport::listener& to) { to.on_left(1); });
  f.progress();
  REQUIRE(f.failures.size() == 1);
  CHECK(f.failures[0].first == 1);
  f.engine.drop_peer(1);
  CHECK(f.engine.carry_out(quiet));
  CHECK(f.producer.replies.size() == 1);
  CHECK(f.producer.missed == std::vector<int>{1});
}

TEST_CASE("a quiet says with whom its context has lost something, before it or after the loss") {
  fixture f;
  auto put = f.command_to(1, command_kind::put);
  put.what.flags = command::has_payload;
  CHECK(f.engine.carry_out(put));
  f.engine.drop_peer(1);
  f.engine.drop_peer(2);
  auto late = f.command_to(2, command_kind::put, 1);
  late.what.flags = command::has_payload;
  CHECK(f.engine.carry_out(late));
  CHECK(f.producer.missed.empty());
  for (const int lane : {0, 1, 0}) {
    auto quiet = f.command_to(-1, command_kind::quiet, lane);
    CHECK(f.engine.carry_out(quiet));
  }
  CHECK(f.producer.missed == std::vector<int>{1, 2, 1});
}

TEST_CASE("a network that counts writes is refused to a job of more PEs than it can tell apart") {
  transport::traits counting;
  counting.order = transport::message_order::counted;
  scripted_transport network(counting, false);
  const auto make = [&](int n_pes) {
    const command_engine made(
        {.my_pe = 0, .n_pes = n_pes, .lanes = 2, .job = job, .device = nullptr}, network,
        [](int, const std::string&) {});
  };
  CHECK_NOTHROW(make(65'536));
  CHECK_THROWS_WITH_AS(make(65'537), doctest::Contains("the job has 65537 PEs"), error);
}

}  // namespace
}  // namespace heddle::testing
