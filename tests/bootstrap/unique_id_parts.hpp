// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <heddle/heddle.h>
#include <sys/socket.h>

#include <cstring>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/byte_stream.hpp"
#include "bootstrap/socket_address.hpp"

namespace heddle {

/// The first address of an id.
inline socket_address address_in(const heddle_unique_id_t& id) {
  byte_reader in(std::as_bytes(std::span(id.bytes)));
  (void)in.number<std::uint16_t>();
  (void)in.raw(32);
  (void)in.number<std::uint8_t>();
  return socket_address::read(in);
}

inline bootstrap::secret secret_in(const heddle_unique_id_t& id) {
  bootstrap::secret secret;
  std::memcpy(secret.data(), id.bytes + sizeof(std::uint16_t), secret.size());
  return secret;
}

/// A blocking connection; none if nobody listens there.
inline unique_fd connect_to(const socket_address& address) {
  unique_fd socket(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(socket.get(), address.data(), address.size()) != 0) socket.reset();
  return socket;
}

}  // namespace heddle
