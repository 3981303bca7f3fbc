// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// What the TCP transport is made of: here what goes into a stream and what comes out of it.
#include <doctest/doctest.h>

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>

#include "doctest/cut_short.hpp"
#include "host/transport/tcp/message_pool.hpp"
#include "host/transport/tcp/outbox.hpp"
#include "host/transport/transport.hpp"
#include "tcp_parts.hpp"

using namespace heddle;
using namespace heddle::tcp;

namespace {

constexpr auto no_token = transport::no_token;
constexpr std::size_t largest = 3 << 20;

operation_header header_of(operation_kind kind, std::uint64_t size, std::uint64_t offset = 0,
                           std::uint32_t region = memory_reader::region) {
  return {kind, region, size, offset};
}

operation message_of(block data) {
  const auto size = data.size();
  return {{operation_kind::message, 0, size, 0}, std::move(data)};
}

void add_message(outbox& out, message_pool& pool, std::span<const std::byte> data) {
  auto* place = pool.take();
  std::copy(data.begin(), data.end(), place);
  out.add_message(place, data.size());
}

/// Whoever has posted to an outbox.
class poster final : public transport::listener {
 public:
  using sent_callback = std::function<void(std::uint64_t token)>;
  using wanted_callback = std::function<bool(std::uint64_t token)>;

  poster(const sent_callback& sent, const wanted_callback& wanted) : sent_(sent), wanted_(wanted) {}
  void on_message(std::span<const std::byte>) override {}
  void on_write(std::uint32_t) override {}
  void on_complete(std::uint64_t token, std::uint64_t) override {
    if (sent_) sent_(token);
  }
  void on_failure(int, const std::string&) override {}
  bool is_wanted(std::uint64_t token) override { return !wanted_ || wanted_(token); }

 private:
  const sent_callback& sent_;
  const wanted_callback& wanted_;
};

outbox::outcome send_from(outbox& out, int socket, const poster::sent_callback& sent = {}) {
  const poster::wanted_callback all;
  poster told(sent, all);
  return out.send(socket, told);
}

/// Operations of every kind, posted to an outbox and kept for comparison. A source is spoilt as
/// soon as its token is told.
class sender {
 public:
  explicit sender(std::uint64_t seed) : random_(seed) {}

  operation make() {
    switch (random_() % 5) {
      case 0:
        return message_of(
            filled(pick({0, 1, 7, 4096, message_pool::most_message_bytes}), random_()));
      case 1:
        return {header_of(operation_kind::read, random_() % largest), {}};
      case 2:
        return with_data({operation_kind::data, 0, 0, 0});
      default:
        auto made = with_data(header_of(operation_kind::write, 0));
        made.header.offset = random_() % (largest - made.header.size + 1);
        return made;
    }
  }
  void post(const operation& what) {
    posted.push_back(what);
    if (what.header.kind == operation_kind::message) return add_message(out, pool_, what.data);
    if (what.header.kind == operation_kind::read) return out.add(what.header, nullptr, no_token);
    const bool tells = random_() % 3 != 0;
    sources_.push_back(what.data);
    sources_.back().reserve(1);  // data of no bytes has a place too
    out.add(what.header, sources_.back().data(), tells ? sources_.size() - 1 : no_token);
    if (tells) tokens.push_back(sources_.size() - 1);
  }
  outbox::outcome send(int socket) {
    return send_from(out, socket, [this](std::uint64_t token) {
      REQUIRE_FALSE(tokens.empty());
      REQUIRE(token == tokens.front());
      tokens.pop_front();
      std::fill(sources_[token].begin(), sources_[token].end(), std::byte{0xee});
    });
  }

 private:
  message_pool pool_;

 public:
  outbox out{pool_};
  std::deque<operation> posted;
  std::deque<std::uint64_t> tokens;  ///< that have not been told

 private:
  /// One of these, or anything below the greatest.
  std::size_t pick(std::initializer_list<std::size_t> sizes) {
    const auto index = random_() % (sizes.size() + 1);
    return index < sizes.size() ? sizes.begin()[index] : random_() % (std::max(sizes) + 1);
  }
  operation with_data(operation_header header) {
    header.size = random_() % 12 == 0 ? pick({largest - 1, largest}) : pick({0, 1, 4095, 70001});
    return {header, filled(header.size, random_())};
  }

  std::mt19937_64 random_;
  std::deque<block> sources_;
};

/// All of the bytes that an outbox sends.
block bytes_of(outbox& out) {
  auto [from, to] = stream_ends();
  block all;
  std::array<std::byte, 65536> piece;
  while (!out.empty()) {
    REQUIRE(send_from(out, from.get()) != outbox::outcome::failed);
    for (long n; (n = ::recv(to.get(), piece.data(), piece.size(), MSG_DONTWAIT)) > 0;)
      all.insert(all.end(), piece.begin(), piece.begin() + n);
  }
  return all;
}

/// What an inbox makes of these bytes, when they arrive in pieces that end at `cuts`.
inbox::outcome receive_all(inbox& in, memory_reader& told, std::span<const std::byte> bytes,
                           std::vector<std::size_t> cuts = {}) {
  auto [from, to] = stream_ends();
  cuts.push_back(bytes.size());
  std::size_t at = 0;
  for (const auto cut : cuts)
    while (true) {
      at += feed(from.get(), bytes.subspan(at, cut - at));
      const auto outcome = in.receive(to.get(), told);
      if (outcome != inbox::outcome::nothing && outcome != inbox::outcome::something)
        return outcome;
      if (at == cut && outcome == inbox::outcome::nothing) break;
    }
  return inbox::outcome::something;
}

void check_same(const operation& arrived, const operation& sent) {
  if (!(arrived == sent)) FAIL("arrived " << arrived.text() << ", sent " << sent.text());
}

}  // namespace

TEST_CASE("what an outbox sends arrives at an inbox, whole and in order") {
  const int rounds = heddle::testing::is_cut_short() ? 3 : 12;
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t seed = std::random_device()();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    sender sending(seed + 1);
    memory_reader told(largest);
    inbox in;
    auto [a, b] = stream_ends(true);
    auto [c, d] = stream_ends(true);
    block relayed;
    int left = 150;
    std::size_t n_arrived = 0;
    const std::size_t n_all = 150;
    while (n_arrived < n_all) {
      for (auto n = random() % 12; n > 0 && left > 0; --n, --left) {
        const auto made = sending.make();
        if (made.header.kind == operation_kind::data) told.asked.push_back(made.header.size);
        sending.post(made);
      }
      REQUIRE(sending.send(a.get()) != outbox::outcome::failed);
      // Between the two, bytes are cut anywhere.
      block piece(1 + random() % (random() % 4 == 0 ? 30 : 20000));
      const auto n = ::recv(b.get(), piece.data(), piece.size(), MSG_DONTWAIT);
      if (n > 0) relayed.insert(relayed.end(), piece.begin(), piece.begin() + n);
      const auto some = relayed.empty() ? 0 : 1 + random() % relayed.size();
      relayed.erase(relayed.begin(),
                    relayed.begin() +
                        static_cast<std::ptrdiff_t>(feed(c.get(), std::span(relayed).first(some))));
      const auto outcome = in.receive(d.get(), told);
      REQUIRE_MESSAGE((outcome == inbox::outcome::nothing || outcome == inbox::outcome::something),
                      in.complaint());
      for (; !told.arrived.empty(); told.arrived.pop_front(), ++n_arrived) {
        REQUIRE_FALSE(sending.posted.empty());
        check_same(told.arrived.front(), sending.posted.front());
        sending.posted.pop_front();
      }
    }
    CHECK(sending.out.empty());
    CHECK(sending.tokens.empty());
    CHECK(told.guards_are_whole());
  }
}

TEST_CASE("an operation may be cut at every place") {
  std::vector<operation> sent;
  sent.push_back(message_of(filled(50, 1)));
  sent.push_back({header_of(operation_kind::write, 33, 5), filled(33, 2)});
  sent.push_back({header_of(operation_kind::read, 9, 1), {}});
  sent.push_back(message_of({}));
  sent.push_back({{operation_kind::data, 0, 21, 0}, filled(21, 3)});
  sent.push_back({header_of(operation_kind::write, 0, 64), {}});
  sent.push_back(message_of(filled(3, 4)));
  sent.push_back({{operation_kind::goodbye, 0, 0, 0}, {}});
  block bytes;
  for (const auto& each : sent) append(bytes, each.header, each.data);
  const auto check = [&](const std::vector<std::size_t>& cuts) {
    memory_reader told(64);
    told.asked = {21};
    inbox in;
    REQUIRE(receive_all(in, told, bytes, cuts) == inbox::outcome::something);
    REQUIRE(told.arrived.size() == sent.size());
    for (std::size_t i = 0; i < sent.size(); ++i) check_same(told.arrived[i], sent[i]);
    CHECK(told.guards_are_whole());
  };
  std::vector<std::size_t> everywhere;
  for (std::size_t first = 0; first < bytes.size(); ++first) {
    everywhere.push_back(first);
    CAPTURE(first);
    check({first});
    for (std::size_t second = first + 1; second < bytes.size(); second += 7) check({first, second});
  }
  check(everywhere);
}

TEST_CASE("an inbox says that its stream has ended, and what arrived before is told") {
  auto [from, to] = stream_ends();
  block bytes;
  append(bytes, message_of(filled(10, 1)).header, filled(10, 1));
  REQUIRE(feed(from.get(), bytes) == bytes.size());
  from.reset();
  memory_reader told(64);
  inbox in;
  CHECK(in.receive(to.get(), told) == inbox::outcome::something);
  CHECK(in.receive(to.get(), told) == inbox::outcome::ended);
  CHECK(told.arrived.size() == 1);
  to.reset();
  CHECK(in.receive(to.get(), told) == inbox::outcome::failed);
}

TEST_CASE("headers that make no sense are malformed, and nothing is written") {
  constexpr auto huge = std::numeric_limits<std::uint64_t>::max();
  struct {
    operation_header header;
    const char* complaint;
  } const cases[] = {
      {header_of(operation_kind::message, message_pool::most_message_bytes + 1), "a message of"},
      {header_of(operation_kind::message, huge), "a message of"},
      {header_of(operation_kind::message, huge - 23), "a message of"},
      {header_of(operation_kind::write, 65), "not exposed"},
      {header_of(operation_kind::write, 1, 64), "not exposed"},
      {header_of(operation_kind::write, huge, 0), "not exposed"},
      {header_of(operation_kind::write, huge, 1), "not exposed"},
      {header_of(operation_kind::write, 2, huge), "not exposed"},
      {header_of(operation_kind::write, 1, 0, 8), "not exposed"},
      {header_of(operation_kind::read, huge, 2), "not exposed"},
      {header_of(operation_kind::read, 1, 0, huge >> 32), "not exposed"},
      {header_of(operation_kind::data, 9), "nobody asked"},
      {header_of(operation_kind::data, huge), "nobody asked"},
      {header_of(operation_kind{0}, 0), "kind 0"},
      {header_of(operation_kind{6}, 0), "kind 6"},
      {header_of(operation_kind{0xffffffff}, huge), "kind 4294967295"},
  };
  for (const auto& each : cases) {
    block bytes;
    append(bytes, header_of(operation_kind::write, 4, 2), filled(4, 1));
    append(bytes, each.header, block(2 * message_pool::most_message_bytes, std::byte{0x33}));
    memory_reader told(64);
    told.asked = {10};
    inbox in;
    CAPTURE(each.complaint);
    CHECK(receive_all(in, told, bytes) == inbox::outcome::malformed);
    CHECK(in.complaint().find(each.complaint) != std::string::npos);
    CHECK(told.arrived.size() == 1);
    block expected(64, memory_reader::guarding);
    const auto written = filled(4, 1);
    std::copy(written.begin(), written.end(), expected.begin() + 2);
    CHECK(std::equal(expected.begin(), expected.end(), told.memory()));
    CHECK(told.guards_are_whole());
  }
}

TEST_CASE("arbitrary bytes are malformed sooner or later, and write nothing outside the places") {
  for (int round = 0; round < 400; ++round) {
    const std::uint64_t seed = std::random_device()();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    block bytes;
    // Some operations that are sound, so that what follows meets every state.
    for (auto sound = random() % 4; sound > 0; --sound) {
      const auto size = random() % 9000;
      if (random() % 2)
        append(bytes, header_of(operation_kind::message, size), filled(size, 1));
      else
        append(bytes, header_of(operation_kind::write, size, random() % 1000), filled(size, 2));
    }
    if (random() % 2 && !bytes.empty())
      for (int i = 0; i < 3; ++i) bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    for (int i = 0; i < 8 * 1024; ++i) {
      const std::uint64_t word = random() >> (random() % 65 % 64);
      const auto raw = std::as_bytes(std::span(&word, 1));
      bytes.insert(bytes.end(), raw.begin(), raw.end());
    }
    bytes.insert(bytes.end(), 4 * message_pool::most_message_bytes, std::byte{0xff});
    memory_reader told(10000);
    told.asked = {0, 1, 5000};
    inbox in;
    const auto outcome = receive_all(in, told, bytes, {random() % 20, 20 + random() % 5000});
    CHECK(outcome == inbox::outcome::malformed);
    CHECK_FALSE(in.complaint().empty());
    CHECK(told.guards_are_whole());
  }
}

TEST_CASE(
    "data whose place is forgotten, or not wanted any more, is dropped, and what follows arrives") {
  constexpr std::size_t size = 100000;
  block bytes;
  append(bytes, header_of(operation_kind::write, size, 100), filled(size, 1));
  const auto first_end = bytes.size();
  append(bytes, message_of(filled(5000, 2)).header, filled(5000, 2));
  append(bytes, header_of(operation_kind::write, 30, 3), filled(30, 3));
  enum class how { forgotten, unwanted, unwanted_at_first, another_forgotten };
  for (const auto way :
       {how::forgotten, how::unwanted, how::unwanted_at_first, how::another_forgotten})
    for (const std::size_t before : {0UL, 1UL, 4071UL, 4072UL, 4073UL, 50000UL, 99999UL}) {
      CAPTURE(before);
      CAPTURE(static_cast<int>(way));
      const bool is_dropped = way != how::another_forgotten;
      memory_reader told(2 * size);
      inbox in;
      told.wants = way != how::unwanted_at_first;
      const auto cut = sizeof(operation_header) + before;
      REQUIRE(receive_all(in, told, std::span(bytes).first(cut)) == inbox::outcome::something);
      CHECK(told.arrived.empty());
      std::byte* const place = told.memory() + 100;
      if (way == how::forgotten) in.forget_place(told.memory(), 2 * size);
      if (way == how::another_forgotten) {
        in.forget_place(told.memory(), 100);
        in.forget_place(place + size, 100);
      }
      if (way == how::unwanted) told.wants = false;
      if (is_dropped) std::fill_n(place, size, std::byte{0x11});
      REQUIRE(receive_all(in, told, std::span(bytes).subspan(cut, first_end - cut)) ==
              inbox::outcome::something);
      REQUIRE(told.arrived.size() == 1);
      CHECK(told.arrived[0].data == (is_dropped ? block(size, std::byte{0x11}) : filled(size, 1)));
      told.wants = true;
      REQUIRE(receive_all(in, told, std::span(bytes).subspan(first_end)) ==
              inbox::outcome::something);
      REQUIRE(told.arrived.size() == 3);
      check_same(told.arrived[1], message_of(filled(5000, 2)));
      check_same(told.arrived[2], {header_of(operation_kind::write, 30, 3), filled(30, 3)});
    }
}

TEST_CASE("an outbox that keeps copies sends what was there, and other data from its place") {
  for (const bool begun : {false, true}) {
    CAPTURE(begun);
    message_pool pool;
    outbox out(pool);
    auto [from, to] = stream_ends(true);
    block lent = filled(300000, 1);
    block own = filled(50000, 2);
    std::vector<std::uint64_t> tokens;
    const auto note = [&](std::uint64_t token) { tokens.push_back(token); };
    out.add(header_of(operation_kind::write, 200000), lent.data(), 1);
    out.add(header_of(operation_kind::write, own.size()), own.data(), 2);
    out.add(header_of(operation_kind::data, 100000), lent.data() + 200000, 3);
    if (begun) CHECK(send_from(out, from.get(), note) == outbox::outcome::something);
    out.keep_copies(lent.data(), lent.size());
    out.keep_copies(lent.data(), lent.size());
    CHECK(tokens.empty());
    std::fill(lent.begin(), lent.end(), std::byte{0});
    const block changed = filled(50000, 5);
    std::copy(changed.begin(), changed.end(), own.begin());
    memory_reader told(300000);
    told.asked = {100000};
    inbox in;
    while (told.arrived.size() < 3) {
      REQUIRE(send_from(out, from.get(), note) != outbox::outcome::failed);
      REQUIRE(in.receive(to.get(), told) != inbox::outcome::malformed);
    }
    lent = filled(300000, 1);
    CHECK(told.arrived[0].data == block(lent.begin(), lent.begin() + 200000));
    CHECK(told.arrived[1].data == changed);
    CHECK(told.arrived[2].data == block(lent.begin() + 200000, lent.end()));
    CHECK(tokens == std::vector<std::uint64_t>{1, 2, 3});
  }
}

TEST_CASE("an outbox forgets data that has not begun to leave, and what is no data stays whole") {
  message_pool pool;
  outbox out(pool);
  const auto data = filled(1000, 1);
  std::vector<std::uint64_t> tokens;
  const auto note = [&](std::uint64_t token) { tokens.push_back(token); };
  const auto message = filled(message_pool::most_message_bytes, 2);
  bool has_begun = false;
  SUBCASE("nothing has left") {}
  SUBCASE("a message has begun to leave") { has_begun = true; }
  auto [from, to] = stream_ends(true);
  add_message(out, pool, message);
  if (has_begun) CHECK(send_from(out, from.get(), note) == outbox::outcome::something);
  REQUIRE(out.size() == 1);
  out.add(header_of(operation_kind::write, data.size()), data.data(), 1);
  out.add(header_of(operation_kind::read, 77, 1), nullptr, no_token);
  out.add({operation_kind::data, 0, data.size(), 0}, data.data(), no_token);
  add_message(out, pool, filled(3, 3));
  // Nothing that was posted behind data arrives without it.
  CHECK(out.forget_data());
  CHECK(out.size() == 1);
  const operation_header goodbye{operation_kind::goodbye, 0, 0, 0};
  out.add(goodbye, nullptr, no_token);
  memory_reader told(1000);
  inbox in;
  while (!out.empty()) {
    REQUIRE(send_from(out, from.get(), note) != outbox::outcome::failed);
    REQUIRE(in.receive(to.get(), told) != inbox::outcome::malformed);
  }
  while (in.receive(to.get(), told) == inbox::outcome::something) {
  }
  REQUIRE(told.arrived.size() == 2);
  check_same(told.arrived[0], message_of(message));
  CHECK(told.arrived[1].header.kind == operation_kind::goodbye);
  CHECK(tokens.empty());
}

TEST_CASE(
    "data of puts that were given up arrives, before what tells of it, from where it was kept") {
  constexpr std::size_t size = 300'000;
  for (const bool begun : {false, true}) {
    CAPTURE(begun);
    message_pool pool;
    outbox out(pool);
    auto [from, to] = stream_ends(true);
    void* gone = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(gone != MAP_FAILED);
    auto* lent = static_cast<std::byte*>(gone);
    const block before = filled(size, 3);
    std::copy(before.begin(), before.end(), lent);
    const block own = filled(50'000, 2);
    std::vector<std::uint64_t> tokens;
    const poster::sent_callback note = [&](std::uint64_t token) { tokens.push_back(token); };
    out.add(header_of(operation_kind::write, 250'000), lent, 1);
    out.add(header_of(operation_kind::write, own.size()), own.data(), 2);
    out.add(header_of(operation_kind::write, 40'000), lent + 250'000, 3);
    add_message(out, pool, block(8));
    if (begun) REQUIRE(send_from(out, from.get(), note) == outbox::outcome::something);
    REQUIRE(tokens.empty());
    const poster::wanted_callback is_wanted = [](std::uint64_t token) { return token == 2; };
    poster told_of(note, is_wanted);
    out.keep_unwanted(told_of);
    ::munmap(gone, size);
    memory_reader told(size);
    inbox in;
    while (told.arrived.size() < 4) {
      REQUIRE(send_from(out, from.get(), note) != outbox::outcome::failed);
      REQUIRE(in.receive(to.get(), told) != inbox::outcome::malformed);
    }
    CHECK(told.arrived[0].data == block(before.begin(), before.begin() + 250'000));
    CHECK(told.arrived[1].data == own);
    CHECK(told.arrived[2].data == block(before.begin() + 250'000, before.begin() + 290'000));
    CHECK(told.arrived[3].header.kind == operation_kind::message);
    CHECK(tokens == std::vector<std::uint64_t>{1, 2, 3});
  }
}

TEST_CASE("data that has begun to leave is not forgotten") {
  message_pool pool;
  outbox out(pool);
  const auto data = filled(200000, 1);
  auto [from, to] = stream_ends(true);
  out.add(header_of(operation_kind::write, data.size()), data.data(), no_token);
  add_message(out, pool, filled(3, 3));
  REQUIRE(send_from(out, from.get()) == outbox::outcome::something);
  CHECK_FALSE(out.forget_data());
  CHECK(out.size() == 2);
  memory_reader told(data.size());
  inbox in;
  while (told.arrived.size() < 2) {
    REQUIRE(send_from(out, from.get()) != outbox::outcome::failed);
    REQUIRE(in.receive(to.get(), told) != inbox::outcome::malformed);
  }
  CHECK(told.arrived[0].data == data);
  check_same(told.arrived[1], message_of(filled(3, 3)));
}

TEST_CASE("an outbox that is cleared starts afresh, and its messages' places are used again") {
  message_pool pool;
  outbox out(pool);
  {
    auto [from, to] = stream_ends(true);
    auto* place = pool.take();
    out.add_message(place, message_pool::most_message_bytes);
    REQUIRE(send_from(out, from.get()) == outbox::outcome::something);
    REQUIRE_FALSE(out.empty());
    out.clear();
    CHECK(out.empty());
    auto* again = pool.take();
    CHECK(again == place);
    pool.give_back(again);
  }
  add_message(out, pool, filled(40, 1));
  block expected;
  append(expected, message_of(filled(40, 1)).header, filled(40, 1));
  CHECK(bytes_of(out) == expected);
}

TEST_CASE("an outbox whose socket is gone says so") {
  message_pool pool;
  outbox out(pool);
  auto [from, to] = stream_ends();
  to.reset();
  add_message(out, pool, filled(40, 1));
  CHECK(send_from(out, from.get()) == outbox::outcome::failed);
  CHECK(out.size() == 1);
}
