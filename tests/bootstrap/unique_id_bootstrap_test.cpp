// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/unique_id_bootstrap.hpp"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <future>
#include <heddle/error.hpp>

#include "bootstrap/endpoint.hpp"
#include "bootstrap/frame_call.hpp"
#include "bootstrap/meeting.hpp"
#include "bootstrap/network_interface.hpp"
#include "bootstrap/socket_address.hpp"
#include "check_status.hpp"
#include "environment_variable.hpp"
#include "support/lowered_descriptor_limit.hpp"
#include "thread_starter.hpp"
#include "unique_id_parts.hpp"

using namespace heddle;
using namespace std::chrono_literals;

namespace {

const char* const silent_host = "silent.invalid";
std::promise<void> resolver_may_answer;
const char* const master = "master.invalid";
const char* address_of_master = "127.0.0.1";  // as this process has it

}  // namespace

/// In front of the C library's: it does not answer for silent_host, and knows master.
extern "C" int getaddrinfo(const char* host, const char* service, const addrinfo* hints,
                           addrinfo** list) {
  if (std::strcmp(host, silent_host) == 0) {
    resolver_may_answer.get_future().wait();
    return EAI_FAIL;
  }
  static const auto next = reinterpret_cast<decltype(&::getaddrinfo)>(
      reinterpret_cast<std::uintptr_t>(::dlsym(RTLD_NEXT, "getaddrinfo")));
  return next(std::strcmp(host, master) == 0 ? address_of_master : host, service, hints, list);
}

namespace {

const std::string loopback = "=lo";

/// A rank's connection to rank 0.
std::unique_ptr<frame_link> meet_rank_zero(const heddle_unique_id_t& id, int rank, int size) {
  meeting::request wanted;
  wanted.purpose = link_purpose::rendezvous;
  wanted.rank = rank;
  wanted.size = size;
  wanted.secret = secret_in(id);
  wanted.callee = 0;
  wanted.at = {address_in(id)};
  meeting met(std::move(wanted));
  met.run(deadline::after(20s));
  return std::move(met.links().at(0));
}

/// A port that was free a moment ago.
int free_port() {
  const auto probe = listen_on(listening_addresses(loopback).front());
  return local_address(probe.get()).port();
}

/// That three processes with torchrun's variables become a job; rank 0 resolves master to
/// `address`.
void check_torchrun_job(const std::string& address) {
  CAPTURE(address);
  environment_variable size("WORLD_SIZE", "3");
  environment_variable host("MASTER_ADDR", master);
  environment_variable port("MASTER_PORT", std::to_string(free_port() - 1));
  std::vector<pid_t> children;
  for (int rank = 0; rank < 3; ++rank) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      environment_variable mine("RANK", std::to_string(rank));
      if (rank == 0) address_of_master = address.c_str();
      try {
        auto self = join_torchrun_job({loopback, "a secret", 0}, deadline::after(20s));
        self->barrier(deadline::after(20s));
        const bool right = self->rank() == rank && self->size() == 3;
        self->leave();
        ::_exit(right ? 0 : 1);
      } catch (const std::exception& failure) {
        std::fprintf(stderr, "rank %d: %s\n", rank, failure.what());
        ::_exit(2);
      }
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int state = 0;
    REQUIRE(::waitpid(child, &state, 0) == child);
    CHECK((WIFEXITED(state) && WEXITSTATUS(state) == 0));
  }
}

}  // namespace

TEST_CASE("ranks that meet by a unique id conform") {
  conformance::check_all_cases([](const conformance::test_case& chosen, int size) {
    const auto id = make_unique_id(loopback);
    return conformance::run_on_threads(chosen, size, [&](int rank) {
      return join_unique_id(id, rank, size, loopback, deadline::after(20s));
    });
  });
}

TEST_CASE("processes meet by a unique id, and one that is killed is named") {
  const auto id = make_unique_id(loopback);
  std::vector<pid_t> children;
  for (int rank = 1; rank < 4; ++rank) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      try {
        auto self = join_unique_id(id, rank, 4, loopback, deadline::after(20s));
        // The death may be told before the end of the barrier in front of it.
        try {
          self->barrier(deadline::after(20s));
          if (rank == 2) ::kill(::getpid(), SIGKILL);
          self->barrier(deadline::after(20s));
        } catch (const error& failure) {
          ::_exit(failure.status() == HEDDLE_ERROR_PEER_LOST && std::strstr(failure.what(), "2")
                      ? 0
                      : 2);
        }
        ::_exit(3);
      } catch (...) {
        ::_exit(4);
      }
    }
    children.push_back(child);
  }
  auto self = join_unique_id(id, 0, 4, loopback, deadline::after(20s));
  const auto start = std::chrono::steady_clock::now();
  check_status(
      [&] {
        self->barrier(deadline::after(20s));
        self->barrier(deadline::after(20s));
      },
      HEDDLE_ERROR_PEER_LOST, "2");
  CHECK(std::chrono::steady_clock::now() - start < 5s);
  for (std::size_t i = 0; i < children.size(); ++i) {
    int state = 0;
    REQUIRE(::waitpid(children[i], &state, 0) == children[i]);
    if (i == 1)
      CHECK(WIFSIGNALED(state));
    else
      CHECK((WIFEXITED(state) && WEXITSTATUS(state) == 0));
  }
}

TEST_CASE("connections that prove nothing are dropped, and hold up nobody") {
  const auto id = make_unique_id(loopback);
  const auto address = address_in(id);
  std::vector<unique_fd> strangers;
  for (int i = 0; i < 20; ++i)
    strangers.push_back(connect_to(address));  // half-open: they say nothing
  auto rubbish = connect_to(address);
  const std::string bytes(100'000, '\xa5');
  (void)!::send(rubbish.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  auto wrong = id;
  wrong.bytes[10] = static_cast<char>(wrong.bytes[10] ^ 1);  // another secret, the same address
  // It is refused, or comes when the rendezvous is over; in no case does it get in.
  std::thread impostor([&] {
    CHECK_THROWS_AS((void)join_unique_id(wrong, 1, 2, loopback, deadline::after(1s)), error);
  });
  std::thread second([&] {
    auto self = join_unique_id(id, 1, 2, loopback, deadline::after(20s));
    self->barrier(deadline::after(20s));
    self->leave();
  });
  const auto start = std::chrono::steady_clock::now();
  auto self = join_unique_id(id, 0, 2, loopback, deadline::after(20s));
  self->barrier(deadline::after(20s));
  CHECK(std::chrono::steady_clock::now() - start < 10s);
  self->leave();
  second.join();
  impostor.join();
}

TEST_CASE("more ranks than rank 0 has children learn of each other through the tree") {
  constexpr int size = 30;
  const auto id = make_unique_id(loopback);
  const auto failures = conformance::run_on_all(size, [&](int rank) {
    auto self = join_unique_id(id, rank, size, loopback, deadline::after(20s));
    const auto mine = std::byte(rank);
    const auto all = self->all_gather(std::span(&mine, 1), deadline::after(20s));
    for (int other = 0; other < size; ++other) {
      conformance::expect(self->host_of(other) == self->host_of(rank), "another host");
      conformance::expect(
          all[static_cast<std::size_t>(other)] == bootstrap::bytes{std::byte(other)},
          "another part");
    }
    self->leave();
  });
  CHECK(failures == "");
}

TEST_CASE("a rank that ends while others are awaited is named to all, not waited for") {
  const auto id = make_unique_id(loopback);
  std::thread others([&] {
    const auto waiting = meet_rank_zero(id, 2, 4);
    auto leaving = meet_rank_zero(id, 1, 4);
    leaving->send(frame(1, {}));
    leaving->flush();
    leaving.reset();
    check_status([&] { (void)receive_frame(*waiting, 0, 2, deadline::after(20s)); },
                 HEDDLE_ERROR_PEER_LOST, "rank 1 of 4 left");
  });
  const auto start = std::chrono::steady_clock::now();
  check_status([&] { join_unique_id(id, 0, 4, loopback, deadline::after(20s)); },
               HEDDLE_ERROR_PEER_LOST,
               "rank 1 of 4 left before all had met: its connection ended; rank 3 had not come");
  CHECK(std::chrono::steady_clock::now() - start < 10s);
  others.join();
}

TEST_CASE("a rank that never comes is named to all, whoever's deadline is the first") {
  const auto id = make_unique_id(loopback);
  const auto start = std::chrono::steady_clock::now();
  const auto failures = conformance::run_on_all(4, [&](int rank) {
    if (rank == 1) return;
    join_unique_id(id, rank, 4, loopback, deadline::after(rank == 2 ? 2s : 20s));
  });
  for (const char* rank : {"rank 0: ", "rank 2: ", "rank 3: "}) {
    CAPTURE(failures);
    CHECK(failures.find(std::string(rank) + "rank 0 of 4 waited for rank 1 until the deadline of "
                                            "rank 2; see that every PE was started") !=
          failures.npos);
  }
  CHECK(std::chrono::steady_clock::now() - start < 10s);
}

TEST_CASE("rank 0 says so when it has no descriptors for the others") {
  constexpr int size = 40;
  const auto id = make_unique_id(loopback);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    try {
      std::vector<std::unique_ptr<frame_link>> links;
      for (int rank = 1; rank < size; ++rank) links.push_back(meet_rank_zero(id, rank, size));
    } catch (const error&) {
      ::_exit(0);  // rank 0 gave up
    }
    ::_exit(1);
  }
  {
    const lowered_descriptor_limit few(20);
    check_status([&] { join_unique_id(id, 0, size, loopback, deadline::after(20s)); },
                 HEDDLE_ERROR_SYSTEM, "raise ulimit -n");
  }
  int state = 0;
  REQUIRE(::waitpid(child, &state, 0) == child);
  CHECK((WIFEXITED(state) && WEXITSTATUS(state) == 0));
}

TEST_CASE("mistakes with unique ids are told") {
  const heddle_unique_id_t none{};
  check_status([&] { join_unique_id(none, 0, 1, loopback, deadline::after(1s)); },
               HEDDLE_ERROR_INVALID_ARGUMENT, "unique id");
  const auto id = make_unique_id(loopback);
  check_status([&] { join_unique_id(id, 2, 2, loopback, deadline::after(1s)); },
               HEDDLE_ERROR_INVALID_ARGUMENT, "PE 2 of 2");
  check_status([&] { join_unique_id(id, 0, 1 << 30, loopback, deadline::after(1s)); },
               HEDDLE_ERROR_INVALID_ARGUMENT, "at most 1048576");
  check_status([&] { join_unique_id(id, 0, 3, loopback, deadline::after(300ms)); },
               HEDDLE_ERROR_TIMEOUT, "1");
  check_status([&] { join_unique_id(id, 0, 1, loopback, deadline::after(1s)); },
               HEDDLE_ERROR_INVALID_USAGE, "made the unique id");
  CHECK_THROWS_AS((void)make_unique_id("=nosuch0"), error);
}

TEST_CASE("of several addresses one that can be bound is enough") {
  const auto mine = listening_addresses(loopback).front();
  const auto taken = listen_on(mine);
  const auto busy = local_address(taken.get());
  // The documentation's network: no machine has this address.
  sockaddr_in nowhere{};
  nowhere.sin_family = AF_INET;
  nowhere.sin_addr.s_addr = ::inet_addr("192.0.2.1");
  const socket_address foreign(reinterpret_cast<const sockaddr*>(&nowhere), sizeof nowhere);
  CHECK(listen_on_any({foreign, mine, busy}).size() == 1);
  CHECK(local_endpoint({foreign, mine}).described.tcp.size() == 1);
  check_status(
      [&] {
        (void)listen_on_any({foreign, busy});
      },
      HEDDLE_ERROR_SYSTEM, foreign.text().c_str());
  check_status(
      [&] {
        (void)listen_on_any({foreign, busy});
      },
      HEDDLE_ERROR_SYSTEM, busy.text().c_str());
}

TEST_CASE("torchrun's variables make a job") {
  check_torchrun_job("127.0.0.1");
  environment_variable size("WORLD_SIZE", "3");
  environment_variable host("MASTER_ADDR", "127.0.0.1");
  environment_variable port("MASTER_PORT", "29500");
  environment_variable bad("RANK", "three");
  check_status([] { join_torchrun_job({}, deadline::after(1s)); }, HEDDLE_ERROR_INVALID_ARGUMENT,
               "RANK=three");
}

TEST_CASE("rank 0 of torchrun is reached where its machine has another address for its own name") {
  check_torchrun_job("127.0.1.1");  // as Debian's /etc/hosts has it
  check_torchrun_job("192.0.2.1");  // the documentation's network: no machine has it
  // Of a job on one machine it is a mistake.
  environment_variable size("WORLD_SIZE", "2");
  environment_variable here("LOCAL_WORLD_SIZE", "2");
  environment_variable host("MASTER_ADDR", "192.0.2.1");
  environment_variable port("MASTER_PORT", "29500");
  environment_variable mine("RANK", "0");
  check_status(
      [] {
        join_torchrun_job({loopback, "", 0}, deadline::after(1s));
      },
      HEDDLE_ERROR_SYSTEM, "192.0.2.1:29501");
}

TEST_CASE("rank 0 of torchrun whose port is taken says how to choose another") {
  const auto taken = listen_on(listening_addresses(loopback).front());
  const int busy = local_address(taken.get()).port();
  environment_variable size("WORLD_SIZE", "2");
  environment_variable host("MASTER_ADDR", "127.0.0.1");
  environment_variable port("MASTER_PORT", std::to_string(busy - 1));
  environment_variable mine("RANK", "0");
  for (const int chosen : {0, busy})
    check_status(
        [&] {
          join_torchrun_job({loopback, "", chosen}, deadline::after(1s));
        },
        HEDDLE_ERROR_SYSTEM,
        fmt::format("HEDDLE_RENDEZVOUS_PORT chooses the port, on every PE the same, else it is "
                    "MASTER_PORT + 1 ({})",
                    busy));
}

// Comes after the cases that fork: ThreadSanitizer allows no fork beside the thread that it leaves.
TEST_CASE("a resolver that does not answer is given up at the deadline") {
  const auto start = std::chrono::steady_clock::now();
  check_status([] { (void)socket_address::resolve(silent_host, 1, deadline::after(200ms)); },
               HEDDLE_ERROR_TIMEOUT, silent_host);
  CHECK(std::chrono::steady_clock::now() - start < 5s);
  resolver_may_answer.set_value();
}
