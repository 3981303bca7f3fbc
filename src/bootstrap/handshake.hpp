// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// How two ranks prove to each other that they know the job's secret, before anything else is said
// on a connection. The secret itself never travels.
//
//   caller (knows whom it calls)                          listener (knows nothing of the caller)
//     hello   magic version purpose rank size nonce  -->
//             <--  challenge  magic version nonce  HMAC(secret, "listener" hello nonce)
//     proof   HMAC(secret, "caller" hello nonces)    -->
//             <--  verdict    ok, or why not (also: this rank is here already, sizes differ)
//
// - Each proof covers both nonces, hence none can be replayed; and a label, hence none can be
// reflected.
// - A listener reads at most 80 bytes from a caller that has proved nothing.
// - `hello` names the job's size and the listener's rank, so both are covered by the proofs.
// - A different version is told before any proof, so that the error can say so.
//
// The two sides are state machines over bytes, without sockets: take() gives the bytes to send,
// feed() takes those received.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bootstrap/bootstrap.hpp"

namespace heddle {

inline constexpr std::uint16_t wire_version = 1;

/// What a connection is for. A proof for one purpose is none for another.
enum class link_purpose : std::uint16_t { rendezvous = 1, tree = 2 };

using nonce = std::array<std::byte, 32>;

struct caller_hello {
  link_purpose purpose;
  std::int32_t caller;
  std::int32_t listener;
  std::int32_t size;
};

class handshake_side {
 public:
  enum class state { going_on, accepted, failed };

  [[nodiscard]] state current() const { return state_; }
  /// Why it failed.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// The bytes to send now.
  std::vector<std::byte> take() { return std::exchange(to_send_, {}); }
  /// Takes received bytes; gives back those after the handshake's end.
  std::vector<std::byte> feed(std::span<const std::byte> received);

 protected:
  handshake_side() = default;
  ~handshake_side() = default;
  /// Handles the message at the front of `input_` if it is complete, and says how long it was; 0 if
  /// more is needed.
  virtual std::size_t step() = 0;
  void fail(std::string problem);

  state state_ = state::going_on;
  std::string problem_;
  std::vector<std::byte> to_send_;
  std::vector<std::byte> input_;
};

class caller_handshake final : public handshake_side {
 public:
  caller_handshake(const bootstrap::secret& secret, const caller_hello& hello);
  /// True if the failure is the listener's word on this rank, and calling again would not help.
  [[nodiscard]] bool refused() const { return refused_; }
  /// True once all is said on this side, and only the verdict is awaited.
  [[nodiscard]] bool proved() const { return proved_; }

 private:
  std::size_t step() override;
  std::size_t read_challenge();
  std::size_t read_verdict();

  const bootstrap::secret secret_;
  std::vector<std::byte> hello_;
  bool proved_ = false;
  bool refused_ = false;
};

class listener_handshake final : public handshake_side {
 public:
  /// `judge` sees what a caller that has proved itself said, and returns "" or why it may not join.
  using judge = std::function<std::string(const caller_hello&)>;
  listener_handshake(const bootstrap::secret& secret, judge judge);
  /// Of a caller that was accepted.
  [[nodiscard]] const caller_hello& hello() const { return hello_; }
  /// True once the caller has proved the secret.
  [[nodiscard]] bool proved() const { return proved_; }

 private:
  std::size_t step() override;
  std::size_t read_hello();
  std::size_t read_proof();

  const bootstrap::secret secret_;
  const judge judge_;
  caller_hello hello_{};
  std::vector<std::byte> transcript_;
  bool proved_ = false;
};

}  // namespace heddle
