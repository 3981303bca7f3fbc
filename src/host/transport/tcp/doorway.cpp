// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include "host/transport/tcp/doorway.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <system_error>

#include "bootstrap/keyed_hash.hpp"
#include "host/transport/tcp/congestion.hpp"
#include "support/log.hpp"
#include "support/throw_error.hpp"

namespace heddle::tcp {

namespace {

constexpr std::size_t most_strangers = 256;
/// Of the door, when no more are let in.
constexpr std::chrono::milliseconds closing_time(100);
/// Who has said nothing for so long makes room for others, if there is need.
constexpr std::chrono::seconds short_patience(1);

}  // namespace

bool change_watch(int poll_set, int descriptor, unsigned before, unsigned events, void* with) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = with;
  return ::epoll_ctl(poll_set, before ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, descriptor, &event) == 0;
}

doorway::doorway(const options& options)
    : options_(options), listeners_(listen_on_any(options.addresses)) {
  for (const auto& each : listeners_) {
    choose_congestion_control(each.get(), options_.congestion);
    addresses_.push_back(local_address(each.get()));
  }
  watch_listeners(true);
}

void doorway::watch_listeners(bool watched) {
  if (std::exchange(is_watching_, watched) == watched) return;
  for (const auto& each : listeners_)
    if (!watched)
      ::epoll_ctl(options_.poll_set, EPOLL_CTL_DEL, each.get(), nullptr);
    else if (!change_watch(options_.poll_set, each.get(), 0, EPOLLIN, nullptr))
      throw_system_error(errno, "asked to watch for peers (epoll_ctl)");
}

/// Who waits to be let in stays with the kernel for a while.
void doorway::close_for_a_while() {
  closed_until_ = std::chrono::steady_clock::now() + closing_time;
  watch_listeners(false);
}

bool doorway::has_room() {
  if (strangers_.size() < most_strangers) return true;
  if (std::chrono::steady_clock::now() - strangers_.front().since < short_patience) return false;
  turn_away(strangers_.front());
  strangers_.pop_front();
  return true;
}

void doorway::complain_of_limit(int error) {
  if (!std::exchange(has_met_limit_, true))
    log::warn(log::subsystem::transport,
              "peers wait to be connected, and this process takes no more of them: {}; raise its "
              "limit of open files (ulimit -n)",
              std::generic_category().message(error));
}

bool doorway::let_in(const taker& take) {
  bool any = false;
  for (const auto& listener : listeners_) {
    for (;;) {
      if (!has_room()) {
        close_for_a_while();
        return any;
      }
      stranger one{.socket = unique_fd(
                       ::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)),
                   .since = std::chrono::steady_clock::now(),
                   .heard = 0,
                   .said = {}};
      if (!one.socket) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
          complain_of_limit(errno);
          close_for_a_while();
        }
        break;
      }
      any = true;
      const auto found = listen_to(one);
      if (found == outcome::is_peer) take(std::move(one.socket), one.said);
      if (found == outcome::waits &&
          change_watch(options_.poll_set, one.socket.get(), 0, EPOLLIN, nullptr))
        strangers_.push_back(std::move(one));
    }
  }
  return any;
}

doorway::outcome doorway::listen_to(stranger& one) {
  auto* into = reinterpret_cast<std::byte*>(&one.said);
  const auto taken =
      ::recv(one.socket.get(), into + one.heard, sizeof one.said - one.heard, MSG_DONTWAIT);
  if (taken < 0 && (errno == EAGAIN || errno == EINTR)) return outcome::waits;
  if (taken <= 0) return outcome::is_none;
  one.heard += static_cast<std::size_t>(taken);
  if (one.heard < sizeof one.said) return outcome::waits;
  if (one.said.magic == hello::expected_magic &&
      equal_secrets(one.said.job_token, options_.job_token) &&
      one.said.address_bytes <= one.said.address.size())
    return outcome::is_peer;
  // Once: who can connect can do it many times.
  if (!std::exchange(was_warned_, true))
    log::warn(log::subsystem::transport, "a connection from {}, a stranger to this job, was closed",
              peer_text(one.socket.get()));
  return outcome::is_none;
}

/// Out of the poll set too: a child process may hold a copy of the socket.
void doorway::turn_away(stranger& one) {
  ::epoll_ctl(options_.poll_set, EPOLL_CTL_DEL, one.socket.get(), nullptr);
}

bool doorway::look(const taker& take) {
  bool any = let_in(take);
  for (auto each = strangers_.begin(); each != strangers_.end();) {
    const auto found = listen_to(*each);
    if (found == outcome::waits) {
      ++each;
      continue;
    }
    any = true;
    turn_away(*each);
    auto done = std::move(*each);
    each = strangers_.erase(each);
    if (found == outcome::is_peer) take(std::move(done.socket), done.said);
  }
  return any;
}

void doorway::close() {
  watch_listeners(false);
  listeners_.clear();
  for (auto& each : strangers_) turn_away(each);
  strangers_.clear();
}

void doorway::look_at_the_time() {
  const auto now = std::chrono::steady_clock::now();
  if (!is_watching_ && now > closed_until_) watch_listeners(true);
  std::erase_if(strangers_, [&](stranger& one) {
    const bool late = now - one.since > options_.patience;
    if (late) turn_away(one);
    return late;
  });
}

}  // namespace heddle::tcp
