// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/transport/verbs/hello.hpp"

#include <algorithm>

#include "bootstrap/byte_stream.hpp"

namespace heddle::verbs {
namespace {

constexpr std::uint32_t magic = 0x31766468;  // "hdv1"

}  // namespace

std::vector<std::byte> encode(const hello& message, const job_token& token) {
  byte_writer out;
  out.number(magic).raw(token).number(static_cast<std::uint8_t>(message.is_answer));
  out.number(message.from).number(message.to).number(message.lane);
  out.number(message.queue).number(message.first).number(message.joined);
  return out.take();
}

std::optional<hello> decode_hello(std::span<const std::byte> bytes, const job_token& token) try {
  byte_reader in(bytes);
  if (in.number<std::uint32_t>() != magic) return {};
  const auto shown = in.raw(token.size());
  if (!std::equal(shown.begin(), shown.end(), token.begin())) return {};
  hello message;
  message.is_answer = in.number<std::uint8_t>() != 0;
  message.from = in.number<std::uint64_t>();
  message.to = in.number<std::uint64_t>();
  message.lane = in.number<std::int32_t>();
  message.queue = in.number<std::uint32_t>();
  message.first = in.number<std::uint32_t>();
  message.joined = in.number<std::uint32_t>();
  return message;
} catch (const malformed_message&) {
  return {};
}

}  // namespace heddle::verbs
