// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host_link.hpp"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace bench::bare {
namespace {

using clock = std::chrono::steady_clock;
constexpr auto limit = std::chrono::seconds(20);

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  if (!value)
    throw std::runtime_error(std::string(name) +
                             " is not set; start this program by tests/networks/run_job.sh");
  return value;
}

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

/// The connection that comes to `at`.
int accept_one(const sockaddr_in& at) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const timeval patience{.tv_sec = limit.count(), .tv_usec = 0};
  ::setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 ||
      ::listen(listener, 1) != 0)
    fail("listening");
  const int connection = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (connection < 0) fail("waiting for the other process");
  ::close(listener);
  return connection;
}

int connect_to(const sockaddr_in& at) {
  const auto until = clock::now() + limit;
  for (;;) {
    const int connection = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(connection, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0)
      return connection;
    if (clock::now() > until) fail("connecting to the other process");
    ::close(connection);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace

host_link::host_link() : me_(std::atoi(variable("RANK"))) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(static_cast<std::uint16_t>(std::atoi(variable("MASTER_PORT"))));
  if (::inet_pton(AF_INET, variable("MASTER_ADDR"), &at.sin_addr) != 1)
    throw std::runtime_error("MASTER_ADDR is no IPv4 address");
  if (me_ < 0 || me_ > 1) throw std::runtime_error("this program is for two processes");
  socket_ = me_ == 0 ? accept_one(at) : connect_to(at);
  const int yes = 1;
  if (::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) != 0) fail("TCP_NODELAY");
}

host_link::~host_link() { ::close(socket_); }

std::string host_link::local_address() const {
  sockaddr_in mine{};
  socklen_t size = sizeof mine;
  if (::getsockname(socket_, reinterpret_cast<sockaddr*>(&mine), &size) != 0) fail("getsockname");
  std::array<char, INET_ADDRSTRLEN> text{};
  return ::inet_ntop(AF_INET, &mine.sin_addr, text.data(), text.size());
}

void host_link::exchange(std::span<const std::byte> out, std::span<std::byte> in) {
  while (!out.empty() || !in.empty()) {
    if (!out.empty()) {
      const auto sent = ::send(socket_, out.data(), out.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent > 0) out = out.subspan(static_cast<std::size_t>(sent));
      if (sent < 0 && errno != EAGAIN) fail("sending to the other process");
    }
    if (in.empty()) continue;
    const auto received = ::recv(socket_, in.data(), in.size(), MSG_DONTWAIT);
    if (received > 0) in = in.subspan(static_cast<std::size_t>(received));
    if (received == 0) throw std::runtime_error("the other process has ended");
    if (received < 0) {
      if (errno != EAGAIN) fail("receiving from the other process");
      idle();
    }
  }
}

double host_link::agree(double x) {
  double other = 0;
  exchange(std::as_bytes(std::span(&x, 1)), std::as_writable_bytes(std::span(&other, 1)));
  return std::max(x, other);
}

void host_link::ask() {
  std::array<std::byte, 8> word{};
  exchange(word, {});
  exchange({}, word);
}

void host_link::answer() {
  std::array<std::byte, 8> word{};
  pollfd waits{.fd = socket_, .events = POLLIN, .revents = 0};
  const auto patience = std::chrono::duration_cast<std::chrono::milliseconds>(limit);
  int ready = -1;
  do {
    ready = ::poll(&waits, 1, static_cast<int>(patience.count()));
  } while (ready < 0 && errno == EINTR);
  if (ready < 0) fail("poll");
  if (ready == 0) throw std::runtime_error("the other process asked nothing");
  exchange({}, word);
  exchange(word, {});
}

}  // namespace bench::bare
