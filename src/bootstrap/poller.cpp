// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/poller.hpp"

#include <sys/eventfd.h>

#include <cerrno>

#include "support/throw_error.hpp"

namespace heddle {

poller::poller() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_) throw_system_error(errno, "asked for an epoll descriptor; raise ulimit -n");
}

void poller::add(int fd, std::uint32_t events, std::uint64_t key) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = key;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
    throw_system_error(errno, "asked epoll to watch descriptor {}", fd);
}

void poller::change(int fd, std::uint32_t events, std::uint64_t key) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = key;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) != 0)
    throw_system_error(errno, "asked epoll to change descriptor {}", fd);
}

void poller::remove(int fd) { ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

std::span<const epoll_event> poller::wait(int milliseconds) {
  int count =
      ::epoll_wait(epoll_.get(), ready_.data(), static_cast<int>(ready_.size()), milliseconds);
  if (count < 0 && errno != EINTR) throw_system_error(errno, "waited for descriptors (epoll_wait)");
  return std::span(ready_).first(static_cast<std::size_t>(count < 0 ? 0 : count));
}

doorbell::doorbell() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_) throw_system_error(errno, "asked for an event descriptor; raise ulimit -n");
}

void doorbell::ring() const {
  std::uint64_t one = 1;
  // Cannot fail but by a full counter, which is a ringing one.
  (void)!::write(event_.get(), &one, sizeof one);
}

void doorbell::silence() const {
  std::uint64_t count;
  (void)!::read(event_.get(), &count, sizeof count);
}

}  // namespace heddle
