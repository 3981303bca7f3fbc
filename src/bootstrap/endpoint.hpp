// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bootstrap/fork_shield.hpp"
#include "bootstrap/membership_page.hpp"
#include "bootstrap/socket_address.hpp"

namespace heddle {

/// What a rank tells all others about itself before any of them is connected: where it listens, and
/// how processes of its host can watch it.
struct endpoint {
  std::string host;  ///< host_identity()
  std::int32_t pid = 0;
  std::int32_t page_fd = -1;  ///< its membership page, in that process
  membership_page::identity who{};
  socket_address local;             ///< abstract Unix name, for ranks of its host
  std::vector<socket_address> tcp;  ///< for all others

  void write(byte_writer& out) const;
  /// Throws malformed_message.
  static endpoint read(byte_reader& in);
};

/// This rank's endpoint, and the sockets and the page that stand behind it.
struct local_endpoint {
  /// Listens on those of `addresses` that can be bound (port 0 lets the kernel choose) and on a
  /// Unix name of its own. Throws HEDDLE_ERROR_SYSTEM if no address can be.
  explicit local_endpoint(const std::vector<socket_address>& addresses);

  endpoint described;
  std::vector<shielded_fd> listeners;
  std::unique_ptr<membership_page> page;
};

}  // namespace heddle
