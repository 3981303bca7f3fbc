// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "host/transport/tcp/doorway.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>

#include "support/log.hpp"
#include "support/throw_error.hpp"

namespace heddle::tcp {

namespace {
constexpr std::size_t most_strangers = 256;
constexpr std::chrono::seconds patience(10);

/// In the time that comparing takes, a stranger reads nothing.
bool same_token(const std::array<std::byte, 16>& a, const std::array<std::byte, 16>& b) {
  std::byte differ{0};
  for (std::size_t i = 0; i < a.size(); ++i) differ |= a[i] ^ b[i];
  return differ == std::byte{0};
}
}  // namespace

void watch(int poll_set, int descriptor, unsigned events, void* with) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = with;
  if (::epoll_ctl(poll_set, EPOLL_CTL_ADD, descriptor, &event) != 0 &&
      (errno != EEXIST || ::epoll_ctl(poll_set, EPOLL_CTL_MOD, descriptor, &event) != 0))
    throw_system_error(errno, "asked to watch a socket (epoll_ctl)");
}

doorway::doorway(const std::vector<socket_address>& addresses, int poll_set,
                 const std::array<std::byte, 16>& job_token)
    : poll_set_(poll_set), job_token_(job_token), listeners_(listen_on_any(addresses)) {
  for (const auto& each : listeners_) watch(poll_set_, each.get(), EPOLLIN, nullptr);
}

std::vector<socket_address> doorway::addresses() const {
  std::vector<socket_address> all;
  for (const auto& each : listeners_) all.push_back(local_address(each.get()));
  return all;
}

void doorway::let_in() {
  for (const auto& listener : listeners_) {
    for (;;) {
      unique_fd socket(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!socket) break;
      // Who says nothing keeps out nobody.
      if (strangers_.size() >= most_strangers) strangers_.pop_front();
      watch(poll_set_, socket.get(), EPOLLIN, nullptr);
      strangers_.push_back({.socket = std::move(socket),
                            .since = std::chrono::steady_clock::now(),
                            .heard = 0,
                            .said = {}});
    }
  }
}

bool doorway::listen_to(stranger& one) {
  auto* into = reinterpret_cast<std::byte*>(&one.said);
  const auto taken =
      ::recv(one.socket.get(), into + one.heard, sizeof one.said - one.heard, MSG_DONTWAIT);
  if (taken < 0 && (errno == EAGAIN || errno == EINTR)) {
    if (std::chrono::steady_clock::now() - one.since < patience) return false;
    one.socket.reset();
    return true;
  }
  if (taken <= 0) {
    one.socket.reset();
    return true;
  }
  one.heard += static_cast<std::size_t>(taken);
  if (one.heard < sizeof one.said) return false;
  if (one.said.magic == hello::expected_magic && same_token(one.said.job_token, job_token_) &&
      one.said.address_bytes <= one.said.address.size())
    return true;
  // Once: who can connect can do it many times.
  if (!std::exchange(was_warned_, true))
    log::warn(log::subsystem::transport, "a connection from {}, a stranger to this job, was closed",
              peer_text(one.socket.get()));
  one.socket.reset();
  return true;
}

bool doorway::look(const taker& take) {
  let_in();
  bool any = false;
  for (auto each = strangers_.begin(); each != strangers_.end();) {
    if (!listen_to(*each)) {
      ++each;
      continue;
    }
    any = true;
    auto done = std::move(*each);
    each = strangers_.erase(each);
    if (done.socket) take(std::move(done.socket), done.said);
  }
  return any;
}

}  // namespace heddle::tcp
