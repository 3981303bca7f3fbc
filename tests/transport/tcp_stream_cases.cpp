// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// How PEs meet over TCP, and how they part.
#include <arpa/inet.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <thread>

#include "bootstrap/socket_address.hpp"
#include "host/transport/tcp/message_pool.hpp"
#include "host/transport/tcp/tcp_transport.hpp"
#include "support/deadline.hpp"
#include "tcp_parts.hpp"

using namespace heddle;
using namespace heddle::tcp;

namespace {

constexpr int lanes = 4;

/// What a message begins with; the rest of it follows from that.
struct label {
  std::uint32_t from, lane, number, size;
  bool operator==(const label&) const = default;
};

/// One PE. What is wrong with what it is told is kept: PEs may be threads.
class tcp_pe final : public transport::listener {
 public:
  explicit tcp_pe(int pe) : pe_(pe) {
    tcp_options options;
    options.lanes = lanes;
    options.one_host = true;
    options.timeout = std::chrono::seconds(60);
    options.job_token.fill(std::byte{0x5c});
    network = make_tcp_transport(options);
  }

  void on_message(std::span<const std::byte> message) override {
    label got{};
    if (message.size() >= sizeof got) std::memcpy(&got, message.data(), sizeof got);
    const auto rest = message.subspan(std::min(message.size(), sizeof got));
    const auto expected = filled(rest.size(), got.from * 7 + got.lane + got.number);
    if (got.size != message.size() || !std::equal(rest.begin(), rest.end(), expected.begin()))
      complain("a message that was not sent");
    if (got.number != next[{got.from, got.lane}]++)
      complain(fmt::format("message {} of lane {} of PE {} out of its turn", got.number, got.lane,
                           got.from));
    if (left.contains(static_cast<int>(got.from)))
      complain(fmt::format("a message of PE {} after it has left", got.from));
    ++n_messages;
  }
  void on_write(std::uint32_t) override { complain("told of a write"); }
  void on_complete(std::uint64_t token, std::uint64_t) override { completed.push_back(token); }
  void on_failure(int pe, const std::string& reason) override { failures[pe] += reason; }
  void on_left(int pe) override {
    if (left[pe]++) complain(fmt::format("PE {} has left twice", pe));
  }

  /// False: not now.
  bool post(int pe, int lane, std::uint32_t size) {
    const auto place = network->begin_message(lane, pe);
    if (place.empty()) return false;
    const auto number = posted_[{pe, lane}]++;
    const label mine{static_cast<std::uint32_t>(pe_), static_cast<std::uint32_t>(lane), number,
                     size};
    std::memcpy(place.data(), &mine, sizeof mine);
    const auto rest = filled(size - sizeof mine, mine.from * 7 + mine.lane + mine.number);
    std::copy(rest.begin(), rest.end(), place.begin() + sizeof mine);
    network->post_message(lane, pe, place, size);
    return true;
  }
  bool drive() { return network->progress(*this); }
  [[nodiscard]] std::string complaints() const {
    std::string all = problems_;
    for (const auto& [pe, reason] : failures) all += fmt::format("failure of {}: {}; ", pe, reason);
    return all;
  }
  void complain(const std::string& what) { problems_ += fmt::format("PE {}: {}; ", pe_, what); }

  std::unique_ptr<transport> network;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> next;
  std::size_t n_messages = 0;
  std::map<int, int> left;
  std::map<int, std::string> failures;
  std::vector<std::uint64_t> completed;

 private:
  int pe_;
  std::string problems_;
  std::map<std::pair<int, int>, std::uint32_t> posted_;
};

using job = std::vector<std::unique_ptr<tcp_pe>>;

job make_job(int n) {
  job all;
  std::vector<transport::bytes> addresses;
  for (int pe = 0; pe < n; ++pe) all.push_back(std::make_unique<tcp_pe>(pe));
  for (auto& each : all) addresses.push_back(each->network->address());
  for (auto& each : all) each->network->set_addresses(addresses);
  return all;
}

/// At the same time: each waits for the others for a moment.
void end(job& all) {
  std::vector<std::thread> threads;
  for (auto& each : all) threads.emplace_back([&] { each->network.reset(); });
  for (auto& each : threads) each.join();
}

bool drive_until(std::initializer_list<tcp_pe*> pes, const std::function<bool()>& done) {
  const auto until = deadline::after(std::chrono::seconds(30));
  while (!done()) {
    if (until.passed()) return false;
    for (auto* each : pes) each->drive();
  }
  return true;
}

/// A peer that is no heddle: PE 1 of a job of two.
class raw_peer {
 public:
  explicit raw_peer(tcp_pe& other) {
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener_ = listen_on({reinterpret_cast<const sockaddr*>(&any), sizeof any});
    byte_writer mine;
    mine.number(std::uint8_t{1});
    local_address(listener_.get()).write(mine);
    const auto theirs = other.network->address();
    other.network->set_addresses({theirs, mine.bytes()});

    byte_reader in(theirs);
    REQUIRE(in.number<std::uint8_t>() > 0);
    const auto address = socket_address::read(in);
    socket = unique_fd(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::connect(socket.get(), address.data(), address.size()) == 0);
    hello said{};
    said.magic = hello::expected_magic;
    said.job_token.fill(std::byte{0x5c});
    said.address_bytes = static_cast<std::uint32_t>(mine.bytes().size());
    std::copy(mine.bytes().begin(), mine.bytes().end(), said.address.begin());
    REQUIRE(feed(socket.get(), std::as_bytes(std::span(&said, 1))) == sizeof said);
    answer heard{};
    REQUIRE(drive_until({&other}, [&] {
      return ::recv(socket.get(), &heard, sizeof heard, MSG_DONTWAIT) == sizeof heard;
    }));
    REQUIRE(heard == answer::welcome);
  }

  unique_fd socket;

 private:
  unique_fd listener_;
};

}  // namespace

TEST_CASE("a connection is made for the first message of a lane to a PE, and for no other") {
  const auto open_files = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  auto pes = make_job(10);
  for (auto& each : pes) each->drive();
  const auto before = open_files();
  for (const std::size_t n : {1u, 2u, 3u}) {
    const int lane = n == 3 ? 1 : 0;  // twice the same, then another lane
    REQUIRE(pes[0]->post(1, lane, 100));
    REQUIRE(drive_until({pes[0].get(), pes[1].get()}, [&] { return pes[1]->n_messages == n; }));
    CHECK(open_files() - before == 2 * (1 + lane));  // this process has both ends
  }
  end(pes);
}

TEST_CASE("all PEs connect to all on all lanes at once, and every message arrives once, in order") {
  for (int round = 0; round < 40; ++round) {
    const std::uint64_t seed = std::random_device()();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const int n = 2 + static_cast<int>(random() % 7);
    const std::size_t per_lane = 1 + random() % 4;
    auto all = make_job(n);
    // What is still to be posted: from, to, lane.
    std::vector<std::array<int, 3>> plan;
    for (int from = 0; from < n; ++from)
      for (int to = 0; to < n; ++to)
        for (int lane = 0; lane < lanes && from != to; ++lane)
          plan.insert(plan.end(), per_lane, {from, to, lane});
    std::shuffle(plan.begin(), plan.end(), random);
    // One round in three posts all before anyone drives.
    const auto at_a_time = round % 3 == 0 ? plan.size() : 1 + random() % 20;
    const auto is_done = [&] {
      return plan.empty() && std::all_of(all.begin(), all.end(), [&](const auto& each) {
               return each->n_messages >= static_cast<std::size_t>(n - 1) * lanes * per_lane;
             });
    };
    const auto until = deadline::after(std::chrono::seconds(60));
    while (!is_done() && !until.passed()) {
      for (auto left = std::min(plan.size(), at_a_time); left > 0; --left) {
        const auto [from, to, lane] = plan.back();
        const auto size = sizeof(label) + random() % (random() % 8 ? 300 : 16000);
        if (!all[static_cast<std::size_t>(from)]->post(to, lane, static_cast<std::uint32_t>(size)))
          break;
        plan.pop_back();
      }
      for (int i = 0; i < n; ++i) all[random() % static_cast<std::size_t>(n)]->drive();
    }
    CHECK(is_done());
    for (auto& each : all) {
      each->drive();
      CHECK(each->complaints() == "");
      CHECK(each->left.empty());
      CHECK(each->n_messages == static_cast<std::size_t>(n - 1) * lanes * per_lane);
    }
    end(all);
  }
}

TEST_CASE("an address that refuses is followed by the next, and all are told of in the end") {
  tcp_pe here(0);
  tcp_pe there(1);
  // Somebody has listened there.
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto refusing = [&] {
    const auto closed = listen_on({reinterpret_cast<const sockaddr*>(&any), sizeof any});
    return local_address(closed.get());
  }();
  const auto real = there.network->address();
  byte_reader in(real);
  std::vector<socket_address> addresses{refusing};
  SUBCASE("one that answers") {
    for (int left = in.number<std::uint8_t>(); left > 0; --left)
      addresses.push_back(socket_address::read(in));
  }
  SUBCASE("none that answers") { addresses.push_back(refusing); }
  const bool answers = addresses.back().text() != refusing.text();
  byte_writer known;
  known.number(static_cast<std::uint8_t>(addresses.size()));
  for (const auto& each : addresses) each.write(known);
  here.network->set_addresses({here.network->address(), known.bytes()});
  there.network->set_addresses({here.network->address(), real});
  REQUIRE(here.post(1, 0, 50));
  CHECK(drive_until({&here, &there},
                    [&] { return there.n_messages == 1 || !here.failures.empty(); }));
  CHECK(there.n_messages == (answers ? 1 : 0));
  const auto refused = refusing.text() + ": Connection refused";
  if (!answers)
    CHECK(here.complaints().find(refused + "; " + refused) != std::string::npos);
  else
    CHECK(here.complaints() == "");
}

TEST_CASE("PEs that leave are heard to the end, and are no failures") {
  for (int round = 0; round < 20; ++round) {
    const std::uint64_t seed = std::random_device()();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const int n = 2 + static_cast<int>(random() % 5);
    const int n_leavers = 1 + static_cast<int>(random() % static_cast<std::uint64_t>(n - 1));
    constexpr int per_lane = 20;
    auto all = make_job(n);
    std::atomic<int> n_done = 0;
    const auto post_all = [&](tcp_pe& self, int pe, std::uint32_t size, int times) {
      for (int i = 0; i < times; ++i)
        for (int to = 0; to < n; ++to)
          for (int lane = 0; lane < lanes && to != pe; ++lane)
            while (!self.post(to, lane, size)) self.drive();
    };
    const auto run = [&](int pe) {
      tcp_pe& self = *all[static_cast<std::size_t>(pe)];
      const bool leaves = pe < n_leavers;
      // One of each first: then all are connected, and leave() waits for nobody.
      post_all(self, pe, 100, 1);
      const auto others = static_cast<std::size_t>(n - 1) * lanes;
      if (!drive_until({&self}, [&] { return self.next.size() == others; }))
        return self.complain("the first messages have not come");
      if (leaves) {
        post_all(self, pe, 3000, per_lane - 1);
        self.network->leave();
        ++n_done;
        return;
      }
      // These have nobody to go to, perhaps, and take nothing of what comes.
      for (int to = 0; to < n_leavers; ++to) (void)self.post(to, pe % lanes, 5000);
      const auto from_leavers = static_cast<std::size_t>(n_leavers) * lanes * (per_lane - 1);
      if (!drive_until({&self}, [&] {
            return (self.left.size() == static_cast<std::size_t>(n_leavers) &&
                    self.n_messages >= others + from_leavers) ||
                   !self.failures.empty();
          }))
        self.complain("not all leavers have left");
      if (self.n_messages != others + from_leavers)
        self.complain(
            fmt::format("{} messages in place of {}", self.n_messages, others + from_leavers));
      ++n_done;
      if (!drive_until({&self}, [&] { return n_done == n; })) self.complain("others are not done");
    };
    std::vector<std::thread> threads;
    for (int pe = 0; pe < n; ++pe) threads.emplace_back(run, pe);
    for (auto& each : threads) each.join();
    for (auto& each : all) CHECK(each->complaints() == "");
    end(all);
  }
}

TEST_CASE("a peer that leaves while a lane is being connected is heard on that lane too") {
  auto all = make_job(2);
  tcp_pe& stays = *all[0];
  tcp_pe& leaves = *all[1];
  REQUIRE(stays.post(1, 0, 50));
  REQUIRE(drive_until({&stays, &leaves}, [&] { return leaves.n_messages == 1; }));
  REQUIRE(leaves.post(0, 0, 50));
  REQUIRE(drive_until({&stays, &leaves}, [&] { return stays.n_messages == 1; }));
  // On lane 1 the one that stays has connected, and has not heard the answer.
  REQUIRE(stays.post(1, 1, 50));
  for (int i = 0; i < 200; ++i) stays.drive();
  for (int i = 0; i < 2000; ++i) leaves.drive();
  REQUIRE(leaves.post(0, 1, 60));
  REQUIRE(leaves.post(0, 0, 60));
  const auto before = std::chrono::steady_clock::now();
  leaves.network->leave();
  CHECK(std::chrono::steady_clock::now() - before < std::chrono::seconds(5));
  CHECK(drive_until({&stays}, [&] { return stays.left.contains(1) || !stays.failures.empty(); }));
  CHECK(stays.n_messages == 3);
  CHECK(stays.complaints() == "");
}

TEST_CASE(
    "a peer that leaves before it has taken a lane's connection has left, and is no failure") {
  auto all = make_job(2);
  tcp_pe& stays = *all[0];
  tcp_pe& leaves = *all[1];
  REQUIRE(stays.post(1, 0, 50));
  REQUIRE(drive_until({&stays, &leaves}, [&] { return leaves.n_messages == 1; }));
  REQUIRE(stays.post(1, 1, 50));
  for (int i = 0; i < 200; ++i) stays.drive();
  for (int i = 0; i < 25; ++i) REQUIRE(leaves.post(0, 0, 16000));
  bool has_ended = false;
  SUBCASE("its process goes on") {}
  SUBCASE("its process ends") { has_ended = true; }
  leaves.network->leave();
  if (has_ended) leaves.network.reset();
  CHECK(drive_until({&stays}, [&] { return stays.left.contains(1) || !stays.failures.empty(); }));
  CHECK(stays.n_messages == 25);
  // Nor is it later.
  for (int lane = 0; lane < lanes; ++lane) CHECK(stays.post(1, lane, 50));
  for (int i = 0; i < 1000; ++i) stays.drive();
  CHECK(stays.complaints() == "");
}

TEST_CASE("a peer that leaves with a read unanswered has left, and its other lanes are heard") {
  auto all = make_job(2);
  tcp_pe& stays = *all[0];
  tcp_pe& leaves = *all[1];
  block memory(1000);
  leaves.network->expose(0, 0, memory.data(), memory.size());
  for (int lane : {0, 1}) REQUIRE(leaves.post(0, lane, 50));
  REQUIRE(drive_until({&stays, &leaves}, [&] { return stays.n_messages == 2; }));
  block place(1000);
  REQUIRE(stays.network->post_read(0, place.data(), {1, 0, 0}, 1000, 5));
  for (int i = 0; i < 100; ++i) stays.drive();
  for (int i = 0; i < 25; ++i) REQUIRE(leaves.post(0, 1, 16000));
  leaves.network->leave();
  CHECK(drive_until({&stays}, [&] { return stays.left.contains(1) || !stays.failures.empty(); }));
  CHECK(stays.n_messages == 27);
  CHECK(stays.completed.empty());
  CHECK(stays.complaints() == "");
}

TEST_CASE("leave() ends though a peer takes nothing") {
  auto all = make_job(2);
  tcp_pe& sleeps = *all[0];
  tcp_pe& leaves = *all[1];
  bool is_connected = false;
  SUBCASE("of what is sent") { is_connected = true; }
  SUBCASE("and is not even connected") {}
  block data(8 << 20);
  if (is_connected) {
    REQUIRE(leaves.post(0, 0, 50));
    REQUIRE(drive_until({&sleeps, &leaves}, [&] { return sleeps.n_messages == 1; }));
    for (int i = 0; i < 2; ++i)
      REQUIRE(leaves.network->post_write(0, {0, 0, 0}, data.data(), data.size(), 1, 0));
    for (int i = 0; i < 1000; ++i) leaves.drive();
  }
  for (int lane = 0; lane < lanes; ++lane)
    while (leaves.post(0, lane, 16000)) {
    }
  const auto before = std::chrono::steady_clock::now();
  leaves.network->leave();
  CHECK(std::chrono::steady_clock::now() - before < std::chrono::seconds(5));
}

TEST_CASE("a peer that is cut off in the middle of an operation is a failure that names it") {
  for (const std::size_t sent : {0, 1, 23, 24, 25, 1000, 1023}) {
    CAPTURE(sent);
    tcp_pe here(0);
    raw_peer there(here);
    block bytes;
    append(bytes, {operation_kind::message, 0, 1000, 0}, filled(1000, 1));
    REQUIRE(feed(there.socket.get(), std::span(bytes).first(sent)) == sent);
    ::shutdown(there.socket.get(), SHUT_WR);
    CHECK(drive_until({&here}, [&] { return !here.failures.empty(); }));
    CHECK(here.failures.size() == 1);
    CHECK(here.failures[1].find("PE 1 at 127.0.0.1:") == 0);
    CHECK(here.failures[1].find("has closed the connection") != std::string::npos);
    CHECK(here.n_messages == 0);
    CHECK(here.left.empty());
    // It is told once, and what is posted then is dropped.
    const auto told = here.failures[1];
    CHECK(here.post(1, 0, 50));
    for (int i = 0; i < 200; ++i) here.drive();
    CHECK(here.failures[1] == told);
  }
}

TEST_CASE(
    "a peer that reads and writes where nothing is exposed is a failure, and changes nothing") {
  constexpr auto huge = std::numeric_limits<std::uint64_t>::max();
  using kind = operation_kind;
  const operation_header cases[] = {
      {kind::write, 3, 65, 4096},
      {kind::write, 3, 1, 4160},
      {kind::write, 3, 1, 4095},
      {kind::write, 3, huge, 4100},
      {kind::write, 3, huge - 4099, 4100},
      {kind::write, 3, 8, huge - 3},
      {kind::write, 2, 8, 4096},
      {kind::write, 4, 8, 4096},
      {kind::write, 0xffffffff, 8, 4096},
      {kind::read, 3, 65, 4096},
      {kind::read, 3, huge, 4097},
      {kind::read, 9, 1, 0},
      {kind::data, 0, 8, 0},
      {kind::data, 0, 0, 0},
      {kind::message, 0, message_pool::most_message_bytes + 1, 0},
      {kind{77}, 0, 0, 0},
  };
  for (const auto& each : cases) {
    const operation text{each, {}};
    CAPTURE(text.text());
    block memory(64 + 2 * 4096, std::byte{0xa5});
    tcp_pe here(0);
    here.network->expose(3, 4096, memory.data() + 4096, 64);
    raw_peer there(here);
    block bytes;
    append(bytes, {kind::write, 3, 64, 4096}, filled(64, 1));  // that one is right
    append(bytes, each, block(100, std::byte{0x33}));
    REQUIRE(feed(there.socket.get(), bytes) == bytes.size());
    CHECK(drive_until({&here}, [&] { return !here.failures.empty(); }));
    CHECK(here.failures[1].find("PE 1 at 127.0.0.1:") == 0);
    CHECK(here.failures[1].find("it has sent ") != std::string::npos);
    block expected(64 + 2 * 4096, std::byte{0xa5});
    const auto right = filled(64, 1);
    std::copy(right.begin(), right.end(), expected.begin() + 4096);
    CHECK(memory == expected);
    // Its connection is closed.
    std::byte byte;
    CHECK(::recv(there.socket.get(), &byte, 1, 0) <= 0);
  }
}

TEST_CASE(
    "what is concealed in the middle of a transfer is neither written nor lost to its reader") {
  block memory = filled(4 << 20, 3);
  tcp_pe here(0);
  here.network->expose(0, 0, memory.data(), memory.size());
  raw_peer there(here);
  block bytes;
  append(bytes, {operation_kind::read, 0, memory.size(), 0}, {});
  append(bytes, {operation_kind::write, 0, 5000, 0}, filled(1000, 1));
  REQUIRE(feed(there.socket.get(), bytes) == bytes.size());
  REQUIRE(drive_until({&here}, [&] { return memory[999] == filled(1000, 1)[999]; }));
  for (int i = 0; i < 100; ++i) here.drive();
  here.network->conceal(0, 0);
  const block all = memory;
  std::fill(memory.begin(), memory.end(), std::byte{0x11});
  REQUIRE(feed(there.socket.get(), filled(4000, 2)) == 4000);
  block heard;
  block piece(1 << 20);
  REQUIRE(drive_until({&here}, [&] {
    const auto n = ::recv(there.socket.get(), piece.data(), piece.size(), MSG_DONTWAIT);
    if (n > 0) heard.insert(heard.end(), piece.begin(), piece.begin() + n);
    return heard.size() >= sizeof(operation_header) + all.size();
  }));
  // The write may have come before or after the beginning was sent.
  CHECK(std::equal(all.begin() + 1000, all.end(), heard.begin() + sizeof(operation_header) + 1000));
  CHECK(memory == block(memory.size(), std::byte{0x11}));
  CHECK(here.complaints() == "");
}
