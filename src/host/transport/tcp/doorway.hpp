// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <string>
#include <vector>

#include "bootstrap/socket_address.hpp"
#include "host/transport/tcp/wire.hpp"
#include "support/unique_fd.hpp"

namespace heddle::tcp {

/// Where peers connect to, and anyone else: hands on connections that have said a whole hello with
/// the job's token, and closes the others.
class doorway {
 public:
  struct options {
    std::vector<socket_address> addresses;
    int poll_set;  ///< an epoll descriptor, which tells of what is to be done here
    std::array<std::byte, 16> job_token;
    std::chrono::duration<double> patience;  ///< with who says nothing
    std::string congestion;                  ///< of what is let in: see congestion.hpp
  };
  explicit doorway(const options& options);

  [[nodiscard]] const std::vector<socket_address>& addresses() const { return addresses_; }

  using taker = std::function<void(unique_fd socket, const hello& said)>;
  /// Takes what has come. True if anything did.
  bool look(const taker& take);
  /// Nobody is let in any more: who waits is told so by the kernel.
  void close();
  /// Closes those that have said nothing for too long. Now and then.
  void look_at_the_time();

 private:
  struct stranger {
    unique_fd socket;
    std::chrono::steady_clock::time_point since;
    std::size_t heard = 0;
    hello said{};
  };
  enum class outcome : std::uint8_t { waits, is_peer, is_none };

  bool let_in(const taker& take);
  outcome listen_to(stranger& one);
  void turn_away(stranger& one);
  [[nodiscard]] bool has_room();
  void close_for_a_while();
  void complain_of_limit(int error);
  void watch_listeners(bool watched);

  const options options_;
  std::vector<unique_fd> listeners_;
  std::vector<socket_address> addresses_;
  std::list<stranger> strangers_;
  bool is_watching_ = false;  ///< the listeners
  std::chrono::steady_clock::time_point closed_until_{};
  bool was_warned_ = false;  ///< of strangers
  bool has_met_limit_ = false;
};

/// Tells the poll set which events of a descriptor it is to tell of, after `before` (0: none, it is
/// not in it). False: errno tells why not.
bool change_watch(int poll_set, int descriptor, unsigned before, unsigned events, void* with);

}  // namespace heddle::tcp
