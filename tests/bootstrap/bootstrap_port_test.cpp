// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// The port that a unique id names, to which anybody can connect: strangers hold up nobody, get in
// nowhere and leave nothing behind; ranks that say the wrong thing are told so, or named.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <iterator>
#include <thread>

#include "bootstrap/frame_call.hpp"
#include "bootstrap/meeting.hpp"
#include "bootstrap/network_interface.hpp"
#include "bootstrap/rendezvous.hpp"
#include "bootstrap/unique_id_bootstrap.hpp"
#include "check_status.hpp"
#include "support/lowered_descriptor_limit.hpp"
#include "unique_id_parts.hpp"

using namespace heddle;
using namespace std::chrono_literals;

namespace {

const std::string loopback = "=lo";

std::ptrdiff_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

/// Checks at its end that the process has as many descriptors as at its start.
class no_descriptor_left_over {
 public:
  ~no_descriptor_left_over() { CHECK(open_descriptors() == before_); }

 private:
  std::ptrdiff_t before_ = open_descriptors();
};

void send_bytes(const unique_fd& socket, std::span<const std::byte> bytes) {
  CHECK(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
        static_cast<ssize_t>(bytes.size()));
}

/// Whether the other side ends the connection within 20 s; what it says before is thrown away.
bool is_ended(const unique_fd& socket) {
  const auto until = deadline::after(20s);
  std::array<char, 1024> buffer;
  for (pollfd entry{socket.get(), POLLIN, 0}; ::poll(&entry, 1, until.poll_milliseconds()) > 0;)
    if (::recv(socket.get(), buffer.data(), buffer.size(), 0) <= 0) return true;
  return false;
}

/// A call to rank 0 with the id's secret, as `hello` says.
meeting::request call_as(const heddle_unique_id_t& id, const caller_hello& hello) {
  meeting::request wanted;
  wanted.purpose = hello.purpose;
  wanted.rank = hello.caller;
  wanted.size = hello.size;
  wanted.secret = secret_in(id);
  wanted.callee = hello.listener;
  wanted.at = {address_in(id)};
  return wanted;
}

/// The connection of a rank that rank 0 has accepted.
std::unique_ptr<frame_link> meet_rank_zero(const heddle_unique_id_t& id, int rank, int size) {
  meeting met(call_as(id, {link_purpose::rendezvous, rank, 0, size}));
  met.run(deadline::after(20s));
  return std::move(met.links().at(0));
}

void join_and_leave(const heddle_unique_id_t& id, int rank, int size) {
  const auto self = join_unique_id(id, rank, size, loopback, deadline::after(20s));
  self->barrier(deadline::after(20s));
  self->leave();
}

/// A job of two, whose rank 1 comes when `before_rank_one` has returned.
void check_job_starts(const heddle_unique_id_t& id, const std::function<void()>& before_rank_one) {
  auto zero = std::async(std::launch::async, [&] { join_and_leave(id, 0, 2); });
  before_rank_one();
  CHECK_NOTHROW(join_and_leave(id, 1, 2));
  CHECK_NOTHROW(zero.get());
}

/// Rank 0 of two ends as told, after rank 1 has met it and `say` has had rank 1's connection.
void check_rank_zero(const std::function<void(frame_link&)>& say, heddle_status_t status,
                     const std::string& part) {
  const no_descriptor_left_over check;
  const auto id = make_unique_id(loopback);
  std::thread one([&] {
    const auto link = meet_rank_zero(id, 1, 2);
    say(*link);
    link->flush();
    wait_for_end(*link, deadline::after(20s));
  });
  check_status([&] { join_unique_id(id, 0, 2, loopback, deadline::after(20s)); }, status, part);
  one.join();
}

std::array<std::byte, 8> header(std::uint32_t length, std::uint16_t type) {
  byte_writer out;
  out.number(length).number(type).number(std::uint16_t{0});
  std::array<std::byte, 8> bytes;
  std::copy(out.bytes().begin(), out.bytes().end(), bytes.begin());
  return bytes;
}

/// Rank 0 of two at a port of its own, where secrets are all zero, and who calls it there.
struct listening_rank {
  unique_fd listener = listen_on(listening_addresses(loopback).front());
  meeting::request request() {
    meeting::request wanted;
    wanted.purpose = link_purpose::rendezvous;
    wanted.size = 2;
    wanted.listeners = {listener.get()};
    wanted.expected = {1};
    return wanted;
  }
  meeting::request call_of(int rank) {
    meeting::request wanted;
    wanted.purpose = link_purpose::rendezvous;
    wanted.rank = rank;
    wanted.size = 2;
    wanted.callee = 0;
    wanted.at = {local_address(listener.get())};
    return wanted;
  }
  unique_fd call() { return connect_to(local_address(listener.get())); }
};

}  // namespace

TEST_CASE("hundreds of silent connections hold up nobody") {
  const no_descriptor_left_over check;
  std::vector<unique_fd> silent;
  const auto id = make_unique_id(loopback);
  for (int i = 0; i < 300; ++i) silent.push_back(connect_to(address_in(id)));
  check_job_starts(id, [&] {
    for (int i = 0; i < 100; ++i) silent.push_back(connect_to(address_in(id)));
  });
  for (const auto& one : silent) CHECK(is_ended(one));
}

TEST_CASE("connections that say a part of a greeting, or close, hold up nobody") {
  const no_descriptor_left_over check;
  const auto id = make_unique_id(loopback);
  const auto greeting = caller_handshake(secret_in(id), {link_purpose::rendezvous, 1, 0, 2}).take();
  std::vector<unique_fd> strangers;
  check_job_starts(id, [&] {
    for (std::size_t said = 0; said <= greeting.size(); said += 3) {
      for (const bool closes : {false, true}) {
        auto one = connect_to(address_in(id));
        send_bytes(one, std::span(greeting).first(said));
        if (!closes) strangers.push_back(std::move(one));
      }
      auto half_closed = connect_to(address_in(id));
      send_bytes(half_closed, std::span(greeting).first(said));
      ::shutdown(half_closed.get(), SHUT_WR);
      CHECK(is_ended(half_closed));
    }
  });
}

TEST_CASE("a connection that says a byte now and then is dropped in time") {
  const no_descriptor_left_over check;
  listening_rank rank;
  auto request = rank.request();
  request.patience = 300ms;
  meeting met(std::move(request));
  const auto slow = rank.call();
  std::thread talker([&] {
    const auto greeting = caller_handshake({}, {link_purpose::rendezvous, 1, 0, 2}).take();
    // Its last byte would come after 2.8 s, and so would the 300 ms without a word.
    std::size_t said = 0;
    while (said < greeting.size() &&
           ::send(slow.get(), &greeting[said], 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1) {
      ++said;
      std::this_thread::sleep_for(50ms);
    }
    CHECK(said < greeting.size());
  });
  check_status([&] { met.run(deadline::after(2s)); }, HEDDLE_ERROR_TIMEOUT,
               "1 connections were dropped, the last from 127.0.0.1");
  talker.join();
}

TEST_CASE("strangers are bounded in number, and the oldest goes first") {
  listening_rank rank;
  auto request = rank.request();
  request.most_strangers = 8;
  meeting met(std::move(request));
  const auto before = open_descriptors();
  std::vector<unique_fd> silent;
  for (int i = 0; i < 100; ++i) silent.push_back(rank.call());
  // Rank 1 comes after them all, and is one of them until it has proved itself.
  auto one =
      std::async(std::launch::async, [&] { meeting(rank.call_of(1)).run(deadline::after(20s)); });
  CHECK_NOTHROW(met.run(deadline::after(20s)));
  CHECK_NOTHROW(one.get());
  CHECK(open_descriptors() == before + 100 + 8);
  for (int i = 0; i < 100; ++i) {
    CAPTURE(i);
    pollfd entry{silent[static_cast<std::size_t>(i)].get(), POLLIN, 0};
    CHECK(::poll(&entry, 1, i < 93 ? 20'000 : 0) == (i < 93 ? 1 : 0));
  }
}

TEST_CASE("the last descriptor is enough for the last rank") {
  listening_rank rank;
  meeting met(rank.request());
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    try {
      meeting(rank.call_of(1)).run(deadline::after(20s));
    } catch (const error&) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  {
    const lowered_descriptor_limit one_more(1);
    CHECK_NOTHROW(met.run(deadline::after(20s)));
  }
  int state = 0;
  REQUIRE(::waitpid(child, &state, 0) == child);
  CHECK((WIFEXITED(state) && WEXITSTATUS(state) == 0));
}

TEST_CASE("connections without end leave the deadline as it is") {
  const no_descriptor_left_over check;
  listening_rank rank;
  meeting met(rank.request());
  std::atomic<bool> stop = false;
  std::vector<std::thread> strangers;
  for (int i = 0; i < 8; ++i)
    strangers.emplace_back([&] {
      while (!stop) (void)rank.call();
    });
  const auto start = std::chrono::steady_clock::now();
  check_status([&] { met.run(deadline::after(500ms)); }, HEDDLE_ERROR_TIMEOUT,
               "rank 0 of 2 waited for rank 1");
  CHECK(std::chrono::steady_clock::now() - start < 10s);
  stop = true;
  for (auto& one : strangers) one.join();
}

TEST_CASE("a rank that is known to have ended is awaited no longer") {
  listening_rank rank;
  const auto start = std::chrono::steady_clock::now();
  auto request = rank.request();
  request.first_loss = [&]() -> std::optional<bootstrap::loss> {
    if (std::chrono::steady_clock::now() - start < 300ms) return std::nullopt;
    return bootstrap::loss{1, "the launcher says so"};
  };
  meeting met(std::move(request));
  check_status([&] { met.run(deadline::after(20s)); }, HEDDLE_ERROR_PEER_LOST,
               "rank 1 of 2 is lost before all had met: the launcher says so");
  CHECK(std::chrono::steady_clock::now() - start < 5s);
}

TEST_CASE("who has another secret is told that it belongs to another job") {
  const no_descriptor_left_over check;
  const auto id = make_unique_id(loopback);
  auto wrong = id;
  wrong.bytes[10] = static_cast<char>(wrong.bytes[10] ^ 1);
  check_job_starts(id, [&] {
    for (int rank : {1, 1, 3})
      check_status([&] { join_unique_id(wrong, rank, 4, loopback, deadline::after(20s)); },
                   HEDDLE_ERROR_INVALID_USAGE, "it belongs to another job");
  });
}

TEST_CASE("who has the secret and no place in the job is told why") {
  const no_descriptor_left_over check;
  const auto id = make_unique_id(loopback);
  const auto check_refused = [&](const caller_hello& hello, const char* part) {
    meeting met(call_as(id, hello));
    check_status([&] { met.run(deadline::after(20s)); }, HEDDLE_ERROR_INVALID_USAGE, part);
  };
  const auto purpose = link_purpose::rendezvous;
  check_job_starts(id, [&] {
    for (const int rank : {2, 1 << 20, -1, 0})
      check_refused({purpose, rank, 0, 2},
                    fmt::format("does not wait for a rank {} (the job has 2 PEs)", rank).c_str());
    check_refused({purpose, 1, 0, 3}, "the job has 2 PEs here, rank 1 says 3");
    check_refused({purpose, 1, 5, 2}, "this is rank 0, not rank 5");
    check_refused({link_purpose::tree, 1, 0, 2}, "another phase of the start");
  });
}

TEST_CASE("a rank 0 that listens and has not called init yet is told of as such") {
  listening_rank zero;
  for (const auto patience : {200ms, 5000ms}) {
    auto wanted = zero.call_of(1);
    wanted.patience = patience;
    check_status([&] { meeting(std::move(wanted)).run(deadline::after(600ms)); },
                 HEDDLE_ERROR_TIMEOUT,
                 "rank 0 has not answered; see whether it has called init yet");
  }
}

TEST_CASE("a rank that has proved itself waits for the verdict for longer than for an answer") {
  listening_rank zero;
  std::thread slow([&] {
    pollfd caller{zero.listener.get(), POLLIN, 0};
    REQUIRE(::poll(&caller, 1, 20000) == 1);
    const unique_fd socket(::accept4(zero.listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    listener_handshake side({}, [](auto&) { return std::string(); });
    while (side.current() == handshake_side::state::going_on) {
      std::array<std::byte, 1024> buffer;
      const auto got = ::recv(socket.get(), buffer.data(), buffer.size(), 0);
      if (got <= 0) return;
      side.feed(std::span(buffer).first(static_cast<std::size_t>(got)));
      if (side.current() == handshake_side::state::accepted) std::this_thread::sleep_for(1s);
      send_bytes(socket, side.take());
    }
  });
  auto wanted = zero.call_of(1);
  wanted.patience = 500ms;
  meeting met(std::move(wanted));
  CHECK_NOTHROW(met.run(deadline::after(20s)));
  slow.join();
}

TEST_CASE("of two ranks with one number the second is refused, and the others meet") {
  const no_descriptor_left_over check;
  listening_rank rank;
  auto request = rank.request();
  request.size = 3;
  request.expected = {1, 2};
  meeting met(std::move(request));
  auto zero = std::async(std::launch::async, [&] { met.run(deadline::after(20s)); });
  const auto call = [&](int number) {
    auto wanted = rank.call_of(number);
    wanted.size = 3;
    auto calling = std::make_unique<meeting>(std::move(wanted));
    calling->run(deadline::after(20s));
    return calling;
  };
  const auto first = call(1);
  check_status([&] { call(1); }, HEDDLE_ERROR_INVALID_USAGE,
               "rank 1 is in the job already; each PE needs a rank of its own");
  const auto second = call(2);
  CHECK_NOTHROW(zero.get());
}

TEST_CASE("a rank that talks nonsense after a good handshake is named") {
  const auto send_frame_of = [](std::uint16_t type, std::size_t size) {
    return [=](frame_link& link) { link.send(frame(type, std::vector<std::byte>(size))); };
  };
  check_rank_zero(send_frame_of(1, 3), HEDDLE_ERROR_SYSTEM,
                  "rank 1 introduced itself with 3 bytes");
  check_rank_zero(send_frame_of(7, 100), HEDDLE_ERROR_SYSTEM, "message type 7");
  check_rank_zero(send_frame_of(0xffff, 2), HEDDLE_ERROR_SYSTEM, "message ends 2 bytes early");
}

TEST_CASE("a rank that announces more than is ever sent is named, and nothing waits for it") {
  check_rank_zero(
      [](frame_link& link) {
        const auto bytes = header(0xffffffff, 1);
        CHECK(::send(link.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == 8);
      },
      HEDDLE_ERROR_PEER_LOST, "it sent a message of 4294967295 bytes");
}

TEST_CASE("a rank that closes in the middle of its introduction is named") {
  check_rank_zero(
      [](frame_link& link) {
        const auto bytes = header(200, 1);
        CHECK(::send(link.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == 8);
        link.shut_down();
      },
      HEDDLE_ERROR_PEER_LOST, "rank 1 ");
}

TEST_CASE("a rank that goes on talking does not put off the deadline of the start") {
  const no_descriptor_left_over check;
  const bootstrap::secret secret{};
  listening_rank rank;
  const std::jthread one([&] {
    meeting met(rank.call_of(1));
    met.run(deadline::after(20s));
    const auto link = std::move(met.links().at(0));
    const local_endpoint mine(listening_addresses(loopback));
    byte_writer introduction;
    mine.described.write(introduction);
    send_frame(*link, 0, frame(1, introduction.bytes()), deadline::after(20s));
    // Where it should end its connection, until rank 0 does.
    const frame more(9, std::vector<std::byte>(4'000'000));
    for (pollfd entry{link->fd(), POLLOUT, 0}; ::poll(&entry, 1, 20'000) > 0;)
      if (::send(link->fd(), more.bytes().data(), more.bytes().size(), MSG_NOSIGNAL) < 0 &&
          errno != EAGAIN)
        break;
  });
  const local_endpoint mine(listening_addresses(loopback));
  const auto start = std::chrono::steady_clock::now();
  CHECK(meet_all({0, 2, secret, {rank.listener.get()}, {}}, mine.described, deadline::after(1s))
            .table.size() == 2);
  CHECK(std::chrono::steady_clock::now() - start < 10s);
}

TEST_CASE("what answers in rank 0's place is told") {
  const no_descriptor_left_over check;
  listening_rank other;
  const auto call = [&](deadline until) {
    return [&, until] {
      (void)meet_all({1, 2, {}, {}, {local_address(other.listener.get())}}, {}, until);
    };
  };
  SUBCASE("another server") {
    std::atomic<bool> stop = false;
    std::thread server([&] {
      const std::string greeting =
          "SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\r\n" + std::string(80, '.');
      while (!stop) {
        pollfd entry{other.listener.get(), POLLIN, 0};
        if (::poll(&entry, 1, 20) <= 0) continue;
        const unique_fd caller(::accept4(other.listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
        (void)!::send(caller.get(), greeting.data(), greeting.size(), MSG_NOSIGNAL);
        (void)is_ended(caller);
      }
    });
    check_status(call(deadline::after(500ms)), HEDDLE_ERROR_TIMEOUT,
                 "what answered there is not heddle; see that the address can be reached");
    stop = true;
    server.join();
  }
  SUBCASE("a server that says nothing") {
    check_status(call(deadline::after(300ms)), HEDDLE_ERROR_TIMEOUT, "could not reach rank 0");
  }
  SUBCASE("a rank 0 that is stopped once it has accepted") {
    std::promise<void> told;
    std::thread zero([&] {
      meeting met(other.request());
      met.run(deadline::after(20s));
      told.get_future().wait();
    });
    check_status(call(deadline::after(1s)), HEDDLE_ERROR_TIMEOUT,
                 "rank 0 has been silent until the deadline of the start");
    told.set_value();
    zero.join();
  }
  SUBCASE("a rank 0 that talks nonsense") {
    std::thread zero([&] {
      meeting met(other.request());
      met.run(deadline::after(20s));
      auto& link = *met.links().at(1);
      link.send(frame(2, std::vector<std::byte>(5)));
      link.flush();
      wait_for_end(link, deadline::after(20s));
    });
    check_status(call(deadline::after(20s)), HEDDLE_ERROR_SYSTEM,
                 "rank 0 sent 5 bytes that are no place in the tree");
    zero.join();
  }
}
