// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/handshake.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "bootstrap/byte_stream.hpp"
#include "bootstrap/keyed_hash.hpp"
#include "bootstrap/random_bytes.hpp"

namespace heddle {
namespace {

constexpr std::uint64_t magic = 0x31'65'6c'64'64'65'68'01;  // "\1heddle1"
constexpr std::size_t hello_size = 8 + 2 + 2 + 4 + 4 + 4 + sizeof(nonce);
constexpr std::size_t challenge_size = 8 + 2 + sizeof(nonce) + sizeof(digest);
constexpr std::size_t longest_verdict = 512;

digest proof_of(const bootstrap::secret& secret, std::string_view side,
                std::span<const std::byte> transcript) {
  byte_writer data;
  data.text(side).raw(transcript);
  return keyed_hash(secret, data.bytes());
}

bool is_proof(std::span<const std::byte> bytes, const digest& expected) {
  digest given;
  std::copy_n(bytes.begin(), given.size(), given.begin());
  return equal_secrets(given, expected);
}

void append(std::vector<std::byte>& to, std::span<const std::byte> data) {
  to.insert(to.end(), data.begin(), data.end());
}

}  // namespace

std::vector<std::byte> handshake_side::feed(std::span<const std::byte> received) {
  append(input_, received);
  while (state_ == state::going_on) {
    std::size_t used = step();
    if (used == 0) return {};
    input_.erase(input_.begin(), input_.begin() + static_cast<std::ptrdiff_t>(used));
  }
  return std::exchange(input_, {});
}

void handshake_side::fail(std::string problem) {
  state_ = state::failed;
  problem_ = std::move(problem);
}

caller_handshake::caller_handshake(const bootstrap::secret& secret, const caller_hello& hello)
    : secret_(secret) {
  nonce mine;
  fill_random(mine);
  byte_writer out;
  out.number(magic).number(wire_version).number(static_cast<std::uint16_t>(hello.purpose));
  out.number(hello.caller).number(hello.listener).number(hello.size).raw(mine);
  hello_ = out.take();
  to_send_ = hello_;
}

std::size_t caller_handshake::step() { return proved_ ? read_verdict() : read_challenge(); }

std::size_t caller_handshake::read_challenge() {
  if (input_.size() < challenge_size) return 0;
  byte_reader in{std::span(input_).first(challenge_size)};
  if (in.number<std::uint64_t>() != magic) {
    fail("what answered there is not heddle");
    return challenge_size;
  }
  if (auto version = in.number<std::uint16_t>(); version != wire_version) {
    refused_ = true;
    fail(
        fmt::format("it speaks version {} of heddle's bootstrap, this PE version {}; load the same "
                    "heddle library on every PE",
                    version, wire_version));
    return challenge_size;
  }
  append(hello_, in.raw(sizeof(nonce)));
  if (!is_proof(in.raw(sizeof(digest)), proof_of(secret_, "listener", hello_))) {
    refused_ = true;
    fail("it cannot prove the job's secret: it belongs to another job");
    return challenge_size;
  }
  append(to_send_, proof_of(secret_, "caller", hello_));
  proved_ = true;
  return challenge_size;
}

std::size_t caller_handshake::read_verdict() {
  constexpr std::size_t header = 2;
  if (input_.size() < header) return 0;
  std::size_t length = byte_reader(input_).number<std::uint16_t>();
  if (length > longest_verdict) {
    fail(fmt::format("it sent a verdict of {} bytes", length));
    return header;
  }
  if (input_.size() < header + length) return 0;
  if (length == 0) {
    state_ = state::accepted;
  } else {
    refused_ = true;
    fail(std::string(reinterpret_cast<const char*>(input_.data()) + header, length));
  }
  return header + length;
}

listener_handshake::listener_handshake(const bootstrap::secret& secret, judge judge)
    : secret_(secret), judge_(std::move(judge)) {}

std::size_t listener_handshake::step() { return transcript_.empty() ? read_hello() : read_proof(); }

std::size_t listener_handshake::read_hello() {
  // A stranger is recognised by its first bytes, so that it need not send a whole hello.
  byte_writer expected;
  expected.number(magic);
  auto seen = std::min(input_.size(), sizeof magic);
  if (!std::equal(input_.begin(), input_.begin() + static_cast<std::ptrdiff_t>(seen),
                  expected.bytes().begin())) {
    fail("it sent no heddle greeting");
    return seen;
  }
  if (input_.size() < hello_size) return 0;
  byte_reader in{std::span(input_).first(hello_size)};
  in.number<std::uint64_t>();
  auto version = in.number<std::uint16_t>();
  hello_.purpose = static_cast<link_purpose>(in.number<std::uint16_t>());
  hello_.caller = in.number<std::int32_t>();
  hello_.listener = in.number<std::int32_t>();
  hello_.size = in.number<std::int32_t>();

  nonce mine;
  fill_random(mine);
  transcript_.assign(input_.begin(), input_.begin() + static_cast<std::ptrdiff_t>(hello_size));
  append(transcript_, mine);
  byte_writer out;
  out.number(magic).number(wire_version).raw(mine);
  out.raw(version == wire_version ? proof_of(secret_, "listener", transcript_) : digest{});
  to_send_ = out.take();
  if (version != wire_version)
    fail(fmt::format("it speaks version {} of heddle's bootstrap, this PE version {}", version,
                     wire_version));
  return hello_size;
}

std::size_t listener_handshake::read_proof() {
  if (input_.size() < sizeof(digest)) return 0;
  if (!is_proof(std::span(input_).first(sizeof(digest)),
                proof_of(secret_, "caller", transcript_))) {
    fail("it could not prove the job's secret");
    return sizeof(digest);
  }
  proved_ = true;
  auto objection = judge_(hello_).substr(0, longest_verdict);
  byte_writer out;
  out.number(static_cast<std::uint16_t>(objection.size()));
  out.raw(std::as_bytes(std::span(objection)));
  append(to_send_, out.bytes());
  if (objection.empty())
    state_ = state::accepted;
  else
    fail(objection);
  return sizeof(digest);
}

}  // namespace heddle
