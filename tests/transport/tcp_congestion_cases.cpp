// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// What the kernel does about congestion of heddle's connections.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <chrono>
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

unique_fd new_socket() { return unique_fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

/// Both ends of a connection over loopback, as connections of heddle's are made.
std::pair<unique_fd, unique_fd> connection(const std::string& wish) {
  const auto door = new_socket();
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof here;
  auto* address = reinterpret_cast<sockaddr*>(&here);
  REQUIRE(::bind(door.get(), address, size) == 0);
  REQUIRE(::listen(door.get(), 1) == 0);
  REQUIRE(::getsockname(door.get(), address, &size) == 0);
  choose_congestion_control(door.get(), wish);
  auto from = new_socket();
  choose_congestion_control(from.get(), wish);
  REQUIRE(::connect(from.get(), address, size) == 0);
  return {std::move(from), unique_fd(::accept4(door.get(), nullptr, nullptr, SOCK_CLOEXEC))};
}

/// Of several connections: one may have had to wait for a processor.
std::chrono::microseconds least_round_trip() {
  auto least = std::chrono::microseconds::max();
  for (int i = 0; i < 10; ++i)
    least = std::min(least, round_trip_of(connection("auto").first.get()));
  return least;
}

bool is_for_long_ways(const std::string& name) {
  return name.starts_with("bbr") || name == "cubic";
}

}  // namespace

TEST_CASE("congestion control is the system's, a name, or Reno instead of what is for long ways") {
  const auto usual = congestion_of(new_socket().get());
  const std::string near = is_for_long_ways(usual) ? "reno" : usual;
  for (const auto& each :
       {std::pair{"system", usual}, {"reno", std::string("reno")}, {"auto", near}}) {
    const auto* wish = each.first;
    const auto& expected = each.second;
    CAPTURE(wish);
    const auto [here, there] = connection(wish);
    CHECK(congestion_of(here.get()) == expected);
    CHECK(congestion_of(there.get()) == expected);
  }
  for (const char* set : {"bbr", "cubic", "vegas"}) {
    const auto socket = new_socket();
    if (!set_congestion(socket.get(), set)) continue;  // this kernel has none, or keeps it
    choose_congestion_control(socket.get(), "system");
    CHECK(congestion_of(socket.get()) == set);
    choose_congestion_control(socket.get(), "auto");
    CHECK(congestion_of(socket.get()) == (is_for_long_ways(set) ? "reno" : set));
  }
}

TEST_CASE("a connection to a far host gets the system's congestion control back") {
  using namespace std::chrono_literals;
  const auto usual = congestion_of(new_socket().get());
  const auto [here, there] = connection("auto");
  CHECK(least_round_trip() < 2ms);
  CHECK(round_trip_of(-1) > 1h);
  const auto near = congestion_of(here.get());
  heed_distance(here.get(), "auto", 1999us);
  CHECK(congestion_of(here.get()) == near);
  heed_distance(here.get(), "reno", 1s);
  CHECK(congestion_of(here.get()) == near);
  heed_distance(here.get(), "auto", 2ms);
  CHECK(congestion_of(here.get()) == usual);
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
