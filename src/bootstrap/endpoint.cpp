// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/endpoint.hpp"

#include "bootstrap/host_identity.hpp"
#include "bootstrap/random_bytes.hpp"

namespace heddle {
namespace {
constexpr std::size_t most_addresses = 8, longest_host = 256;
}

void endpoint::write(byte_writer& out) const {
  out.text(host).number(pid).number(page_fd).raw(who);
  local.write(out);
  out.number(static_cast<std::uint8_t>(tcp.size()));
  for (auto& address : tcp) address.write(out);
}

endpoint endpoint::read(byte_reader& in) {
  endpoint read;
  read.host = in.text();
  if (read.host.empty() || read.host.size() > longest_host) throw malformed_message("bad host");
  read.pid = in.number<std::int32_t>();
  read.page_fd = in.number<std::int32_t>();
  auto who = in.raw(read.who.size());
  std::copy(who.begin(), who.end(), read.who.begin());
  read.local = socket_address::read(in);
  auto count = in.number<std::uint8_t>();
  if (count == 0 || count > most_addresses) throw malformed_message("bad number of addresses");
  for (int i = 0; i < count; ++i) read.tcp.push_back(socket_address::read(in));
  return read;
}

local_endpoint::local_endpoint(const std::vector<socket_address>& addresses) {
  described.host = host_identity();
  described.pid = ::getpid();
  fill_random(described.who);
  page = std::make_unique<membership_page>(described.who);
  described.page_fd = page->fd();
  described.local = socket_address::abstract("heddle-" + to_hex(described.who));
  listeners.emplace_back(listen_on(described.local));
  for (auto& listener : listen_on_any(addresses)) {
    described.tcp.push_back(local_address(listener.get()));
    listeners.emplace_back(std::move(listener));
  }
}

}  // namespace heddle
