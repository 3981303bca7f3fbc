// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bootstrap/fork_shield.hpp"

namespace heddle {

/// A message of a link, with its header: 32 bits of payload length, 16 of type, 16 of zero. Shared,
/// so that sending it on to several links copies nothing.
class frame {
 public:
  frame() = default;
  frame(std::uint16_t type, std::span<const std::byte> payload);

  static constexpr std::size_t header_size = 8;
  /// The longest payload that is accepted from the wire.
  static constexpr std::size_t longest = std::size_t{1} << 30;

  [[nodiscard]] std::uint16_t type() const;
  [[nodiscard]] std::span<const std::byte> payload() const {
    return std::span(*bytes_).subspan(header_size);
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return *bytes_; }

 private:
  friend class frame_link;
  explicit frame(std::vector<std::byte> bytes)
      : bytes_(std::make_shared<const std::vector<std::byte>>(std::move(bytes))) {}
  std::shared_ptr<const std::vector<std::byte>> bytes_;
};

/// Frames in both directions over a non-blocking stream socket. Used by one thread.
class frame_link {
 public:
  enum class state {
    open,
    ended,  ///< the other side closed in good order of its socket
    failed  ///< reset, timed out, or sent what is no frame: see problem()
  };

  /// `early`: bytes that were received already.
  frame_link(shielded_fd socket, std::vector<std::byte> early);

  [[nodiscard]] int fd() const { return socket_.get(); }
  [[nodiscard]] state current() const { return state_; }
  [[nodiscard]] const std::string& problem() const { return problem_; }

  void send(frame frame) { out_.push_back(std::move(frame)); }
  /// Writes what the socket takes; has_output() tells whether more is left. A connection that takes
  /// no more is found out by receive(), after what the other side sent before.
  void flush();
  [[nodiscard]] bool has_output() const { return !out_.empty(); }
  /// Reads what is there (at most about `budget` bytes) and hands over each whole frame.
  void receive(const std::function<void(frame)>& handle, std::size_t budget = std::size_t{4} << 20);
  /// Reads what is there until a frame is whole, and takes that one alone.
  std::optional<frame> receive_one();

  /// No more output; the other side will read its end after what was flushed.
  void shut_down();
  /// True while bytes that were flushed have not reached the other machine.
  [[nodiscard]] bool in_flight() const;

 private:
  void fail(std::string problem);
  void drop_output();
  std::optional<frame> take();
  bool read_more(std::size_t& received);

  shielded_fd socket_;
  state state_ = state::open;
  std::string problem_;
  std::deque<frame> out_;
  std::size_t sent_of_front_ = 0;
  std::vector<std::byte> in_;
  std::size_t in_used_ = 0;  // of in_, handed over already
};

}  // namespace heddle
