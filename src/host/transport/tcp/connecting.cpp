// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// How streams come and go.

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "host/transport/connect_time.hpp"
#include "host/transport/tcp/congestion.hpp"
#include "host/transport/tcp/stream_transport.hpp"
#include "support/deadline.hpp"
#include "support/log.hpp"
#include "support/throw_error.hpp"

namespace heddle::tcp {

namespace {

/// Within it, something more comes from a peer that has refused a lane because it is leaving.
constexpr std::chrono::seconds goodbye_time(5);

std::string text_of(int error) { return std::generic_category().message(error); }

/// What is sent leaves at once. A peer that does not answer is an error of the socket in the end,
/// after those that wait have said for what.
void prepare(int socket, std::chrono::duration<double> timeout) {
  const auto set = [socket](int level, int option, double value) {
    const int number = static_cast<int>(std::clamp(value, 1.0, 2e9));
    ::setsockopt(socket, level, option, &number, sizeof number);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 2 * timeout.count() * 1e3);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, std::min(timeout.count(), 3600.0));
  set(IPPROTO_TCP, TCP_KEEPINTVL, std::min(timeout.count() / 4, 60.0));
}

}  // namespace

void stream_transport::watch(stream& with, unsigned events) {
  if (with.watched == events) return;
  if (change_watch(poll_set_.get(), with.socket.get(), with.watched, events, &with))
    with.watched = events;
  else
    lose(with.pe, fmt::format("asked to watch its socket: {}", text_of(errno)));
}

void stream_transport::connect(stream& to) {
  if (peers_[static_cast<std::size_t>(to.pe)].addresses.empty())
    return lose(to.pe, "its address is none");
  to.now = stream::state::connecting;
  to.stuck_since = clock::now();
  unfinished_.push_back(&to);
  try_next_address(to);
}

void stream_transport::try_next_address(stream& to) {
  const auto& theirs = peers_[static_cast<std::size_t>(to.pe)].addresses;
  while (to.tried < theirs.size()) {
    const auto& address = theirs[to.tried++];
    to.socket =
        unique_fd(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (to.socket) {
      prepare(to.socket.get(), options_.timeout);
      choose_congestion_control(to.socket.get(), options_.congestion);
      if (::connect(to.socket.get(), address.data(), address.size()) == 0 || errno == EINPROGRESS)
        return watch(to, EPOLLOUT);
    }
    note_refusal(to, errno);
  }
  fail_to_connect(to, "connecting to " + to.refusal);
}

/// By the address that was tried last.
void stream_transport::note_refusal(stream& by, int error) {
  const auto& theirs = peers_[static_cast<std::size_t>(by.pe)].addresses;
  by.refusal += fmt::format("{}{}: {}", by.refusal.empty() ? "" : "; ", theirs[by.tried - 1].text(),
                            text_of(error));
  by.was_refused |= error == ECONNREFUSED || error == ECONNRESET;
}

void stream_transport::go_on(stream& with) {
  if (with.now == stream::state::greeting) return hear_answer(with);
  if (with.now != stream::state::connecting) return;
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(with.socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error == 0) return greet(with);
  note_refusal(with, error);
  give_up_socket(with);
  try_next_address(with);
}

void stream_transport::greet(stream& with) {
  hello mine{};
  mine.magic = hello::expected_magic;
  mine.job_token = options_.job_token;
  mine.lane = static_cast<std::uint32_t>(with.lane);
  mine.address_bytes = static_cast<std::uint32_t>(address_.size());
  std::copy(address_.begin(), address_.end(), mine.address.begin());
  // A new connection has room for that.
  if (::send(with.socket.get(), &mine, sizeof mine, MSG_NOSIGNAL) != sizeof mine)
    return fail_to_connect(with, fmt::format("connecting: {}", text_of(errno)));
  with.now = stream::state::greeting;
  watch(with, EPOLLIN);
}

void stream_transport::hear_answer(stream& with) {
  answer said{};
  const auto heard = ::recv(with.socket.get(), &said, sizeof said, MSG_DONTWAIT | MSG_PEEK);
  if (heard < 0 && (errno == EAGAIN || errno == EINTR)) return;
  with.was_refused |= heard == 0 || (heard < 0 && errno == ECONNRESET);
  if (heard <= 0)
    return fail_to_connect(
        with, heard == 0 ? "it has closed a new connection: it has ended, or is of another job"
                         : fmt::format("connecting: {}", text_of(errno)));
  if (heard < static_cast<long>(sizeof said)) return;
  (void)::recv(with.socket.get(), &said, sizeof said, MSG_DONTWAIT);
  if (said == answer::welcome) return open(with);
  if (said != answer::crossed) return lose(with.pe, "it has given an answer that is none");
  give_up_socket(with);
  with.now = stream::state::crossed;
}

/// Who is leaving takes no connection any more; what it has said before, goodbye perhaps, is on its
/// way.
void stream_transport::fail_to_connect(stream& with, const std::string& reason) {
  if (with.now == stream::state::lost) return;
  const peer& other = peers_[static_cast<std::size_t>(with.pe)];
  if (!other.is_leaving) {
    const bool will_tell =
        with.was_refused &&
        std::any_of(other.streams.begin(), other.streams.end(),
                    [&](const auto& each) { return each.get() != &with && may_bring(each); });
    if (!will_tell || with.now == stream::state::refused) return lose(with.pe, reason);
    give_up_socket(with);
    with.now = stream::state::refused;
    with.stuck_since = clock::now();
    with.refusal = reason;
    return;
  }
  close(with);
  with.now = stream::state::left;
  note_leaving(with.pe);
}

void stream_transport::take(unique_fd socket, const hello& said) {
  const auto reply = [&](answer what) {
    (void)!::send(socket.get(), &what, sizeof what, MSG_NOSIGNAL | MSG_DONTWAIT);
  };
  const auto theirs = name_of(std::span(said.address).first(said.address_bytes));
  const auto known = pe_of_.find(theirs);
  if (known == pe_of_.end() || said.lane >= static_cast<std::uint32_t>(options_.lanes)) {
    log::warn(log::subsystem::transport, "a connection from {} was closed: it is no PE of this job",
              peer_text(socket.get()));
    return;
  }
  stream& with = stream_of(known->second, static_cast<int>(said.lane));
  switch (with.now) {
    case stream::state::greeting:
      // Of two that cross, the one from the lesser address is taken.
      if (name_of(address_) < theirs) return reply(answer::crossed);
      break;
    case stream::state::refused:
    case stream::state::connecting:
    case stream::state::idle:
    case stream::state::crossed:
      break;
    case stream::state::open:
      return reply(answer::crossed);  // an attempt that its maker has given up since
    case stream::state::left:
    case stream::state::lost:
      return;
  }
  prepare(socket.get(), options_.timeout);
  reply(answer::welcome);
  give_up_socket(with);
  with.socket = std::move(socket);
  open(with);
}

void stream_transport::open(stream& with) {
  std::erase(unfinished_, &with);
  with.now = stream::state::open;
  heed_distance(with.socket.get(), options_.congestion, round_trip_of(with.socket.get()));
  open_.push_back(&with);
  watch(with, EPOLLIN);
  if (!with.out.empty()) note_unsent(with);
}

/// A child process may hold a copy, which would stay in the poll set.
void stream_transport::give_up_socket(stream& with) {
  if (std::exchange(with.watched, 0))
    ::epoll_ctl(poll_set_.get(), EPOLL_CTL_DEL, with.socket.get(), nullptr);
  with.socket.reset();
}

void stream_transport::close(stream& with) {
  std::erase(open_, &with);
  std::erase(unfinished_, &with);
  give_up_socket(with);
  forget_unsent(with);
  with.reads.clear();
}

void stream_transport::look_at_the_time() {
  doorway_.look_at_the_time();
  if (unfinished_.empty() && unsent_.empty()) return;
  const auto now = clock::now();
  std::vector<std::pair<stream*, std::string>> late;
  const auto is_late = [&](const stream& one) {
    const auto time = now - one.stuck_since;
    return time > (one.now == stream::state::open ? options_.timeout
                                                  : connect_time(options_.timeout)) ||
           (one.now == stream::state::refused && time > goodbye_time);
  };
  for (stream* each : unfinished_)
    if (is_late(*each))
      late.emplace_back(each, each->now == stream::state::refused
                                  ? each->refusal
                                  : fmt::format("it was not connected after {:.3g} s",
                                                connect_time(options_.timeout).count()));
  for (stream* each : unsent_)
    if (each->is_blocked && is_late(*each))
      late.emplace_back(each,
                        fmt::format("it has taken nothing for {} s", options_.timeout.count()));
  for (const auto& [each, reason] : late)
    each->now == stream::state::open ? lose(each->pe, reason) : fail_to_connect(*each, reason);
}

/// What waits for a connection is told of first: the end of a team, perhaps.
void stream_transport::finish_connecting(deadline until) {
  const auto may_come = [](const stream* one) { return one->now != stream::state::refused; };
  while (std::any_of(unfinished_.begin(), unfinished_.end(), may_come) && !until.passed()) {
    std::array<epoll_event, 32> events;
    const int n = ::epoll_wait(poll_set_.get(), events.data(), static_cast<int>(events.size()), 1);
    for (int i = 0; i < n; ++i)
      if (auto* with = static_cast<stream*>(events[static_cast<std::size_t>(i)].data.ptr))
        go_on(*with);
    (void)doorway_.look(
        [this](unique_fd socket, const hello& said) { take(std::move(socket), said); });
  }
}

void stream_transport::say_goodbye(stream& to, deadline until) {
  if (!to.out.forget_data()) return;
  to.out.add({operation_kind::goodbye, 0, 0, 0}, nullptr, no_token);
  nobody told;
  while (to.out.send(to.socket.get(), told) != outbox::outcome::failed && !to.out.empty() &&
         !until.passed()) {
    pollfd room{to.socket.get(), POLLOUT, 0};
    ::poll(&room, 1, until.poll_milliseconds());
  }
  ::shutdown(to.socket.get(), SHUT_WR);
}

/// What is not read when a socket is closed takes what the peer has not received with it.
void stream_transport::hear_out(stream& from, deadline until) {
  std::array<std::byte, 4096> ignored;
  while (!until.passed()) {
    const auto heard = ::recv(from.socket.get(), ignored.data(), ignored.size(), MSG_DONTWAIT);
    if (heard > 0) continue;
    if (heard == 0 || (errno != EAGAIN && errno != EINTR)) return;
    pollfd more{from.socket.get(), POLLIN, 0};
    ::poll(&more, 1, until.poll_milliseconds());
  }
}

void stream_transport::leave() {
  if (std::exchange(has_left_, true)) return;
  const auto until = deadline::after(std::chrono::milliseconds(500));
  finish_connecting(until);
  const auto all = open_;
  for (stream* each : all)
    if (each->now == stream::state::open) say_goodbye(*each, until);
  for (stream* each : all) hear_out(*each, until);
  for (stream* each : all) close(*each);
  doorway_.close();  // peers have heard the goodbye by now
}

}  // namespace heddle::tcp
