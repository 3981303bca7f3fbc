// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/epoll.h>

#include <array>
#include <cstdint>
#include <span>

#include "support/unique_fd.hpp"

namespace heddle {

/// The descriptors that one loop waits for (epoll), each under a key that the loop chose.
class poller {
 public:
  poller();

  void add(int fd, std::uint32_t events, std::uint64_t key);
  void change(int fd, std::uint32_t events, std::uint64_t key);
  /// Before the descriptor is closed.
  void remove(int fd);

  /// What is ready; empty after `milliseconds` (-1: no limit) or a signal.
  std::span<const epoll_event> wait(int milliseconds);

 private:
  unique_fd epoll_;
  std::array<epoll_event, 64> ready_{};
};

/// A descriptor that makes a poller's wait return when another thread rings it.
class doorbell {
 public:
  doorbell();
  void ring() const;
  void silence() const;
  [[nodiscard]] int fd() const { return event_.get(); }

 private:
  unique_fd event_;
};

}  // namespace heddle
