// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/byte_stream.hpp"
#include "support/deadline.hpp"
#include "support/unique_fd.hpp"

namespace heddle {

/// Where a stream socket listens: IPv4, IPv6 or an abstract Unix name.
class socket_address {
 public:
  socket_address() = default;
  socket_address(const sockaddr* address, socklen_t size);

  /// An abstract Unix name, of at most 100 bytes.
  static socket_address abstract(std::string_view name);
  /// The addresses that the resolver has for `host` (a name or a number). Throws
  /// HEDDLE_ERROR_SYSTEM if it has none, HEDDLE_ERROR_TIMEOUT if it does not answer in time.
  static std::vector<socket_address> resolve(const std::string& host, std::uint16_t port,
                                             deadline until);

  [[nodiscard]] int family() const { return storage_.ss_family; }
  [[nodiscard]] const sockaddr* data() const {
    return reinterpret_cast<const sockaddr*>(&storage_);
  }
  [[nodiscard]] socklen_t size() const { return size_; }
  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] socket_address with_port(std::uint16_t port) const;
  /// "192.0.2.2:4711", "[2001:db8::1]:4711" or "@name".
  [[nodiscard]] std::string text() const;

  void write(byte_writer& out) const;
  /// Throws malformed_message.
  static socket_address read(byte_reader& in);

 private:
  sockaddr_storage storage_{};
  socklen_t size_ = 0;
};

/// A non-blocking listening socket. Throws HEDDLE_ERROR_SYSTEM.
unique_fd listen_on(const socket_address& address);
/// A socket for each of `addresses` that this machine lets one listen on. Throws
/// HEDDLE_ERROR_SYSTEM, with what was wrong with each, if there is none.
std::vector<unique_fd> listen_on_any(const std::vector<socket_address>& addresses);
/// The address that `socket` is bound to.
socket_address local_address(int socket);
/// The address at the other end of `socket`, as text, "unknown" if there is none.
std::string peer_text(int socket);

}  // namespace heddle
