// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// Who is let in to a job over TCP, and who is not.
#include <arpa/inet.h>
#include <poll.h>
#include <sys/epoll.h>

#include <functional>
#include <set>

#include "bootstrap/socket_address.hpp"
#include "host/transport/tcp/doorway.hpp"
#include "support/deadline.hpp"
#include "support/lowered_descriptor_limit.hpp"
#include "tcp_parts.hpp"

using namespace heddle;
using namespace heddle::tcp;

namespace {

std::array<std::byte, 16> token() {
  std::array<std::byte, 16> all;
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::byte>(i * 7 + 1);
  return all;
}

hello hello_of(std::uint32_t lane) {
  hello said{};
  said.magic = hello::expected_magic;
  said.job_token = token();
  said.lane = lane;
  said.address_bytes = 4;
  std::memcpy(said.address.data(), &lane, sizeof lane);
  return said;
}

std::span<const std::byte> bytes_of(const hello& said) {
  return std::as_bytes(std::span(&said, 1));
}

/// A door on loopback, with those that it has let in.
class door {
 public:
  explicit door(double patience)
      : poll_set_(::epoll_create1(EPOLL_CLOEXEC)),
        way_({{loopback()},
              poll_set_.get(),
              token(),
              std::chrono::duration<double>(patience),
              "system"}) {}

  [[nodiscard]] unique_fd connect() {
    const auto& address = way_.addresses().at(0);
    unique_fd made(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(made);
    REQUIRE(::connect(made.get(), address.data(), address.size()) == 0);
    return made;
  }
  [[nodiscard]] bool calls() const {
    epoll_event event{};
    return ::epoll_wait(poll_set_.get(), &event, 1, 0) > 0;
  }
  bool look() {
    return way_.look([this](unique_fd socket, const hello& said) {
      CHECK(said.address_bytes == 4);
      CHECK_MESSAGE(lanes.insert(said.lane).second, "lane ", said.lane, " was let in twice");
      inside_.push_back(std::move(socket));
    });
  }
  void look_at_the_time() { way_.look_at_the_time(); }
  /// As a transport does it, until `done`.
  [[nodiscard]] bool open_until(const std::function<bool()>& done) {
    const auto until = deadline::after(std::chrono::seconds(30));
    while (!done() && !until.passed()) {
      epoll_event event{};
      if (::epoll_wait(poll_set_.get(), &event, 1, 5) > 0) look();
      look_at_the_time();
    }
    return done();
  }

  std::set<std::uint32_t> lanes;

 private:
  static socket_address loopback() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return {reinterpret_cast<const sockaddr*>(&address), sizeof address};
  }
  unique_fd poll_set_;
  doorway way_;
  std::vector<unique_fd> inside_;
};

bool is_closed(const unique_fd& socket) {
  std::byte byte;
  const auto heard = ::recv(socket.get(), &byte, 1, MSG_DONTWAIT);
  return heard == 0 || (heard < 0 && errno != EAGAIN);
}

}  // namespace

TEST_CASE("300 peers that connect at once are all let in") {
  door here(60);
  std::vector<unique_fd> peers;
  for (std::uint32_t i = 0; i < 300; ++i) {
    peers.push_back(here.connect());
    REQUIRE(feed(peers.back().get(), bytes_of(hello_of(i))) == sizeof(hello));
  }
  CHECK(here.open_until([&] { return here.lanes.size() == peers.size(); }));
  for (const auto& each : peers) CHECK_FALSE(is_closed(each));
}

TEST_CASE("peers whose hello comes in parts, by turns, are let in") {
  door here(60);
  std::vector<unique_fd> peers;
  for (std::uint32_t i = 0; i < 200; ++i) peers.push_back(here.connect());
  std::size_t from = 0;
  for (const std::size_t to : {1UL, 8UL, 31UL, 287UL, 288UL}) {
    CHECK(here.lanes.empty());
    for (std::uint32_t i = 0; i < peers.size(); ++i) {
      const auto said = hello_of(i);
      REQUIRE(feed(peers[i].get(), bytes_of(said).subspan(from, to - from)) == to - from);
      if (i % 3 == 0) here.look();
    }
    from = to;
  }
  CHECK(here.open_until([&] { return here.lanes.size() == peers.size(); }));
  for (const auto& each : peers) CHECK_FALSE(is_closed(each));
}

TEST_CASE("strangers are closed, and are not handed on") {
  auto wrong_token = hello_of(1);
  wrong_token.job_token[15] ^= std::byte{1};
  auto wrong_magic = hello_of(2);
  wrong_magic.magic[7] = '0';
  auto long_address = hello_of(3);
  long_address.address_bytes = 257;
  door here(60);
  for (const auto& said : {wrong_token, wrong_magic, long_address}) {
    const auto stranger = here.connect();
    REQUIRE(feed(stranger.get(), bytes_of(said)) == sizeof said);
    CHECK(here.open_until([&] { return is_closed(stranger); }));
  }
  // One that goes before it has said all.
  auto gone = here.connect();
  REQUIRE(feed(gone.get(), bytes_of(hello_of(4)).first(100)) == 100);
  while (here.calls()) here.look();
  gone.reset();
  const auto peer = here.connect();
  REQUIRE(feed(peer.get(), bytes_of(hello_of(5))) == sizeof(hello));
  CHECK(here.open_until([&] { return here.lanes.contains(5); }));
  CHECK(here.lanes.size() == 1);
  CHECK_FALSE(is_closed(peer));
}

TEST_CASE("those who say nothing, or half of it, keep nobody out") {
  double patience = 60;
  SUBCASE("with a short patience") { patience = 0.05; }
  SUBCASE("with a long one") {}
  CAPTURE(patience);
  door here(patience);
  std::vector<unique_fd> strangers;
  for (int i = 0; i < 300; ++i) {
    strangers.push_back(here.connect());
    if (i % 2) REQUIRE(feed(strangers.back().get(), bytes_of(hello_of(7)).first(150)) == 150);
  }
  while (here.calls()) {
    here.look();
  }
  const auto peer = here.connect();
  REQUIRE(feed(peer.get(), bytes_of(hello_of(5))) == sizeof(hello));
  CHECK(here.open_until([&] { return here.lanes.contains(5); }));
  CHECK_FALSE(is_closed(peer));
  CHECK(here.lanes.size() == 1);
  if (patience < 1)
    CHECK(here.open_until([&] {
      return std::all_of(strangers.begin(), strangers.end(),
                         [](const auto& each) { return is_closed(each); });
    }));
}

TEST_CASE("without descriptors peers wait outside, nobody spins, and they get in later") {
  door here(60);
  std::vector<unique_fd> peers;
  for (std::uint32_t i = 0; i < 20; ++i) {
    peers.push_back(here.connect());
    REQUIRE(feed(peers.back().get(), bytes_of(hello_of(i))) == sizeof(hello));
  }
  {
    const lowered_descriptor_limit few(3);
    REQUIRE(here.calls());
    here.look();
    CHECK(here.lanes.size() < peers.size());
    // The door is shut until the time is looked at.
    for (int i = 0; i < 100; ++i) CHECK_FALSE(here.calls());
    // After that it opens now and then.
    const auto until = deadline::after(std::chrono::milliseconds(350));
    int calls = 0;
    while (!until.passed()) {
      here.look_at_the_time();
      if (!here.calls()) continue;
      ++calls;
      here.look();
    }
    CHECK(calls <= 4);
    CHECK(here.lanes.size() < peers.size());
  }
  CHECK(here.open_until([&] { return here.lanes.size() == peers.size(); }));
  for (const auto& each : peers) CHECK_FALSE(is_closed(each));
}
