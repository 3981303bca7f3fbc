// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <vector>

#include "bootstrap/socket_address.hpp"
#include "host/transport/tcp/wire.hpp"
#include "support/unique_fd.hpp"

namespace heddle::tcp {

/// Where peers connect to, and anyone else: hands on connections that have said a whole hello with
/// the job's token, and closes the others.
class doorway {
 public:
  /// `poll_set`: an epoll descriptor that tells of what is to be done here.
  doorway(const std::vector<socket_address>& addresses, int poll_set,
          const std::array<std::byte, 16>& job_token);

  [[nodiscard]] std::vector<socket_address> addresses() const;

  using taker = std::function<void(unique_fd socket, const hello& said)>;
  /// Takes what has come. True if anything did.
  bool look(const taker& take);

 private:
  struct stranger {
    unique_fd socket;
    std::chrono::steady_clock::time_point since;
    std::size_t heard = 0;
    hello said{};
  };
  void let_in();
  /// Whether it has said all, or is to be closed (`socket` empty).
  bool listen_to(stranger& one);

  int poll_set_;
  std::array<std::byte, 16> job_token_;
  std::vector<unique_fd> listeners_;
  std::list<stranger> strangers_;
  bool was_warned_ = false;
};

/// The descriptor is looked at with the others of the poll set; `events` as epoll has them.
void watch(int poll_set, int descriptor, unsigned events, void* with);

}  // namespace heddle::tcp
