// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// What the kernel does about congestion of heddle's connections.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <heddle/error.hpp>

#include "host/transport/tcp/congestion.hpp"
#include "tcp_parts.hpp"

using namespace heddle;
using namespace heddle::tcp;

namespace {

std::string congestion_of(int socket) {
  std::array<char, 16> name{};
  socklen_t size = name.size();
  REQUIRE(::getsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name.data(), &size) == 0);
  return name.data();
}

bool set_congestion(int socket, const std::string& name) {
  return ::setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name.data(),
                      static_cast<socklen_t>(name.size())) == 0;
}

/// A connection to this process, over loopback.
std::pair<unique_fd, unique_fd> connection() {
  const unique_fd door(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof here;
  auto* address = reinterpret_cast<sockaddr*>(&here);
  REQUIRE(::bind(door.get(), address, size) == 0);
  REQUIRE(::listen(door.get(), 1) == 0);
  REQUIRE(::getsockname(door.get(), address, &size) == 0);
  unique_fd from(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(::connect(from.get(), address, size) == 0);
  return {std::move(from), unique_fd(::accept4(door.get(), nullptr, nullptr, SOCK_CLOEXEC))};
}

}  // namespace

TEST_CASE("congestion control is the system's, a name, or Reno between near hosts") {
  const auto [here, there] = connection();
  const auto usual = congestion_of(here.get());
  choose_congestion_control(here.get(), "system");
  CHECK(congestion_of(here.get()) == usual);
  choose_congestion_control(here.get(), "reno");
  CHECK(congestion_of(here.get()) == "reno");
  choose_congestion_control(here.get(), "auto");
  CHECK(congestion_of(here.get()) == "reno");
  for (const char* set : {"bbr", "cubic", "vegas"}) {
    if (!set_congestion(there.get(), set)) continue;  // this kernel has none, or keeps it
    choose_congestion_control(there.get(), "system");
    CHECK(congestion_of(there.get()) == set);
    choose_congestion_control(there.get(), "auto");
    CHECK(congestion_of(there.get()) == (set == std::string("vegas") ? set : "reno"));
  }
}

TEST_CASE("a congestion control that there is not is refused, with those that there are") {
  CHECK_NOTHROW(check_congestion_control("auto"));
  CHECK_NOTHROW(check_congestion_control("system"));
  CHECK_NOTHROW(check_congestion_control("reno"));
  CHECK_THROWS_WITH_AS(check_congestion_control("fastest"),
                       doctest::Contains("HEDDLE_TCP_CONGESTION=\"fastest\" cannot be chosen here"),
                       error);
  CHECK_THROWS_WITH_AS(check_congestion_control("fastest"), doctest::Contains("reno"), error);
}
