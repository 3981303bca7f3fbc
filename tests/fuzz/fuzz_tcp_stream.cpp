// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// What a peer's stream brings, in pieces of any size: whatever the bytes are, nothing is written
// outside the places that were given, and what is told was sent.
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <vector>

#include "fuzz_input.hpp"
#include "host/transport/tcp/inbox.hpp"
#include "host/transport/tcp/message_pool.hpp"

using namespace heddle;
using namespace heddle::fuzz;

namespace {

/// A PE with some exposed memory, which has asked for some data.
class fuzzed_reader final : public tcp::inbox::reader {
 public:
  void on_message(std::span<const std::byte> message) override {
    require(message.size() <= tcp::message_pool::most_message_bytes, "a message is no longer");
  }
  std::byte* place_of(const tcp::operation_header& header) override {
    require(awaited_ == 0, "data comes when the data before it is there");
    if (header.size > memory_.size() || header.offset > memory_.size() - header.size)
      return nullptr;
    awaited_ = header.size;
    return memory_.data() + header.offset;
  }
  bool is_wanted(const tcp::operation_header& header) override { return header.region != 7; }
  void on_data(const tcp::operation_header& header) override {
    require(header.size == awaited_, "data is told of once, after it was placed");
    awaited_ = 0;
  }
  bool on_read(const tcp::operation_header& header) override { return header.offset < 100; }
  void on_goodbye() override { has_left_ = true; }
  [[nodiscard]] bool goes_on() const override { return !has_left_; }

  void forget(tcp::inbox& in) { in.forget_place(memory_.data(), memory_.size() / 2); }

 private:
  std::vector<std::byte> memory_ = std::vector<std::byte>(40'000);
  std::uint64_t awaited_ = 0;
  bool has_left_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::array<int, 2> ends{};
  require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0,
          "a pair of sockets");
  fuzz_input in(data, size);
  const bool forgets = in.up_to(1) == 1;
  const std::size_t most = 1 + in.number<std::uint8_t>() * 16u;
  auto bytes = in.rest();
  fuzzed_reader told;
  tcp::inbox box;
  auto outcome = tcp::inbox::outcome::nothing;
  while (!bytes.empty() && outcome != tcp::inbox::outcome::malformed && told.goes_on()) {
    const auto piece = bytes.first(std::min(most, bytes.size()));
    require(::write(ends[0], piece.data(), piece.size()) == static_cast<ssize_t>(piece.size()),
            "a piece is written");
    bytes = bytes.subspan(piece.size());
    if (forgets) told.forget(box);
    do {
      outcome = box.receive(ends[1], told);
    } while (outcome == tcp::inbox::outcome::something && told.goes_on());
    require(outcome != tcp::inbox::outcome::failed && outcome != tcp::inbox::outcome::ended,
            "the stream is whole");
  }
  if (outcome == tcp::inbox::outcome::malformed)
    require(!box.complaint().empty(), "what is malformed is said");
  for (const int end : ends) ::close(end);
  return 0;
}
