// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "host/transport/tcp/message_pool.hpp"
#include "host/transport/tcp/wire.hpp"
#include "host/transport/transport.hpp"

namespace heddle::tcp {

/// What is to be sent through one stream, in order. As much as the socket takes goes in one call.
class outbox {
 public:
  explicit outbox(message_pool& pool) : pool_(&pool) {}
  outbox(const outbox&) = delete;
  outbox& operator=(const outbox&) = delete;
  ~outbox() { clear(); }

  /// `message`: a place of the pool, which goes back to it.
  void add_message(std::byte* message, std::size_t size);
  /// `data` may be null where the header is all. The listener is told of `token` when the data has
  /// been sent, unless it is transport::no_token.
  void add(const operation_header& header, const std::byte* data, std::uint64_t token);

  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  [[nodiscard]] std::size_t size() const { return waiting_.size(); }

  enum class outcome : std::uint8_t { nothing, something, failed };
  /// Sends what the socket takes now. Failed: errno tells why.
  outcome send(int socket, transport::listener& listener);
  /// Copies the data that it would take from there.
  void keep_copies(const std::byte* start, std::size_t size);
  /// And that of tokens which the listener does not want any more. Without memory for it nothing
  /// leaves any more: send() fails, by ENOMEM.
  void keep_unwanted(transport::listener& listener);
  /// Forgets data in the sender's own memory and what is behind it, a signal perhaps. False if that
  /// has begun to leave: nothing can follow.
  bool forget_data();
  /// Forgets all.
  void clear();

 private:
  struct outgoing {
    operation_header header;
    const std::byte* data;  ///< null: none
    std::byte* message;     ///< of the pool, with its header before it; else null
    std::uint64_t token;
    std::shared_ptr<std::byte[]> copy;  ///< of the data

    [[nodiscard]] std::size_t bytes() const {
      return sizeof header + (data || message ? header.size : 0);
    }
  };
  void keep(outgoing& one);
  void sent(std::size_t bytes, transport::listener& listener);

  message_pool* pool_;
  std::deque<outgoing> waiting_;
  std::size_t sent_of_first_ = 0;
  bool lacks_memory_ = false;
};

}  // namespace heddle::tcp
