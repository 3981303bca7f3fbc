// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// What is read from another process, without a connection: whatever is accepted is written again
// as the same bytes.
#include <sys/socket.h>

#include <heddle/error.hpp>
#include <vector>

#include "bootstrap/byte_stream.hpp"
#include "bootstrap/endpoint.hpp"
#include "bootstrap/frame_link.hpp"
#include "bootstrap/tree_place.hpp"
#include "bootstrap/unique_id_bootstrap.hpp"
#include "fuzz_input.hpp"

using namespace heddle;
using namespace heddle::fuzz;

namespace {

template <class Read>
void check_decoder(std::span<const std::byte> bytes, Read read) {
  byte_reader in(bytes);
  byte_writer again;
  try {
    read(in).write(again);
  } catch (const malformed_message&) {
    return;
  }
  require(std::ranges::equal(again.bytes(), bytes.first(bytes.size() - in.left().size())),
          "what was read is written as the same bytes");
}

/// It is an id of nobody's: this process made none, and rank 0 calls no address.
void check_unique_id(std::span<const std::byte> bytes) {
  heddle_unique_id_t id{};
  std::copy_n(bytes.begin(), std::min(bytes.size(), sizeof id.bytes),
              reinterpret_cast<std::byte*>(id.bytes));
  try {
    (void)join_unique_id(id, 0, 2, "=lo", deadline::after(std::chrono::seconds(1)));
  } catch (const error&) {
    return;
  }
  require(false, "an id that was not made here makes no job");
}

void check_frames(fuzz_input& in) {
  int ends[2];
  require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "a pair of sockets");
  unique_fd sender(ends[0]);
  const bool one_by_one = in.up_to(1) == 1;
  const auto early = in.block();
  frame_link link(shielded_fd(unique_fd(ends[1])), {early.begin(), early.end()});
  std::vector<std::byte> sent(early.begin(), early.end()), received;
  const auto keep = [&](const frame& got) {
    require(got.payload().size() + frame::header_size == got.bytes().size(), "a frame is whole");
    received.insert(received.end(), got.bytes().begin(), got.bytes().end());
  };
  const auto receive = [&] {
    if (!one_by_one) return link.receive(keep);
    while (auto got = link.receive_one()) keep(*got);
  };
  while (!in.has_ended() && link.current() == frame_link::state::open) {
    const auto chunk = in.block();
    sent.insert(sent.end(), chunk.begin(), chunk.end());
    require(::send(sender.get(), chunk.data(), chunk.size(), MSG_NOSIGNAL) ==
                static_cast<ssize_t>(chunk.size()),
            "the socket takes a chunk");
    receive();
  }
  sender.reset();
  receive();
  require(link.current() != frame_link::state::open, "the link has ended");
  require(
      received.size() <= sent.size() && std::equal(received.begin(), received.end(), sent.begin()),
      "frames are what was sent, in order");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz_input in(data, size);
  switch (in.up_to(4)) {
    case 0:
      check_decoder(in.rest(), [](byte_reader& from) {
        auto read = socket_address::read(from);
        require(!read.text().empty(), "an address has a text");
        return read;
      });
      break;
    case 1:
      check_decoder(in.rest(), [](byte_reader& from) { return endpoint::read(from); });
      break;
    case 2: {
      const int job_size = in.number<std::uint8_t>();
      check_decoder(in.rest(), [=](byte_reader& from) { return tree_place::read(from, job_size); });
      break;
    }
    case 3:
      check_unique_id(in.rest());
      break;
    default:
      check_frames(in);
  }
  return 0;
}
