// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/transport/verbs/wait_set.hpp"

#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "support/throw_error.hpp"

namespace heddle::verbs {

wait_set::wait_set()
    : all_(::epoll_create1(EPOLL_CLOEXEC)),
      timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  if (!all_ || !timer_) throw_system_error(errno, "made descriptors to wait for a network with");
  add(timer_.get());
}

void wait_set::add(int descriptor) {
  epoll_event event{};
  event.events = EPOLLIN;
  if (::epoll_ctl(all_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0)
    throw_system_error(errno, "added a descriptor to those of a network");
}

void wait_set::wake_at(clock::time_point time) {
  if (time == std::exchange(wakes_at_, time)) return;
  itimerspec until{};
  if (time != clock::time_point::max()) {
    // Zero would stop it.
    const auto left = std::max<clock::duration>(time - clock::now(), std::chrono::microseconds(1));
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    until.it_value.tv_sec = seconds.count();
    until.it_value.tv_nsec = std::chrono::nanoseconds(left - seconds).count();
  }
  (void)::timerfd_settime(timer_.get(), 0, &until, nullptr);
}

bool wait_set::has_event() const {
  epoll_event any{};
  return ::epoll_wait(all_.get(), &any, 1, 0) > 0;
}

}  // namespace heddle::verbs
