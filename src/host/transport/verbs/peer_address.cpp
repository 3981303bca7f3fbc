// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/transport/verbs/peer_address.hpp"

#include <algorithm>

#include "bootstrap/byte_stream.hpp"
#include "support/throw_error.hpp"

namespace heddle::verbs {
namespace {

constexpr std::uint8_t format = 1;
constexpr std::size_t name_bytes = 15;

}  // namespace

std::vector<std::byte> encode(const peer_address& address) {
  byte_writer out;
  out.number(format).number(address.id).number(address.queue_key);
  out.number(static_cast<std::uint8_t>(address.rails.size()));
  for (const auto& rail : address.rails) {
    out.raw(std::as_bytes(std::span(rail.value)));
    out.number(rail.network).number(rail.datagram_queue).number(rail.lid).number(rail.mtu_code);
    out.number(rail.most_reads).number(static_cast<std::uint8_t>(rail.link));
    out.text(std::string_view(rail.name).substr(0, name_bytes));
  }
  return out.take();
}

peer_address decode(std::span<const std::byte> bytes) try {
  byte_reader in(bytes);
  peer_address address;
  if (in.number<std::uint8_t>() != format) throw malformed_message("it has another format");
  address.id = in.number<std::uint64_t>();
  address.queue_key = in.number<std::uint32_t>();
  address.rails.resize(in.number<std::uint8_t>());
  for (auto& rail : address.rails) {
    const auto value = in.raw(rail.value.size());
    std::transform(value.begin(), value.end(), rail.value.begin(),
                   [](std::byte byte) { return std::to_integer<std::uint8_t>(byte); });
    rail.network = in.number<std::uint64_t>();
    rail.datagram_queue = in.number<std::uint32_t>();
    rail.lid = in.number<std::uint16_t>();
    rail.mtu_code = in.number<std::uint8_t>();
    rail.most_reads = in.number<std::uint8_t>();
    rail.link = static_cast<link_layer>(in.number<std::uint8_t>());
    rail.name = in.text();
  }
  return address;
} catch (const malformed_message& problem) {
  throw_error(HEDDLE_ERROR_MISMATCH,
              "read the verbs address of a PE: {}; do all PEs run the same heddle?",
              problem.what());
}

rail_pair rails_of(const peer_address& low, const peer_address& high, int lane) {
  if (low.rails.empty()) return {};
  const int first = lane % static_cast<int>(low.rails.size());
  const auto& from = low.rails[static_cast<std::size_t>(first)];
  std::vector<int> same_network;
  std::vector<int> same_link;
  for (std::size_t i = 0; i < high.rails.size(); ++i) {
    const auto& to = high.rails[i];
    if (to.link != from.link) continue;
    same_link.push_back(static_cast<int>(i));
    if (from.network != 0 && to.network == from.network)
      same_network.push_back(static_cast<int>(i));
  }
  const auto& candidates = same_network.empty() ? same_link : same_network;
  if (candidates.empty()) return {};
  return {first, candidates[static_cast<std::size_t>(lane) % candidates.size()]};
}

std::string text_of(const peer_address& address) {
  std::string text;
  for (const auto& rail : address.rails)
    text += fmt::format("{}{}, {}", text.empty() ? "" : "; ", rail.name, text_of(rail.value));
  return text.empty() ? "no address" : text;
}

}  // namespace heddle::verbs
