// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "bootstrap/frame_link.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>

#include <utility>

using namespace heddle;

namespace {

std::pair<unique_fd, unique_fd> connected() {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  return {unique_fd(ends[0]), unique_fd(ends[1])};
}

frame text_frame(std::uint16_t type, std::string_view text) {
  return {type, std::as_bytes(std::span(text))};
}

}  // namespace

TEST_CASE("frames arrive whole and in order, also in pieces") {
  auto [left, right] = connected();
  frame_link sender(shielded_fd(std::move(left)), {}), receiver(shielded_fd(std::move(right)), {});
  const std::string large(3'000'000, 'x');
  sender.send(text_frame(1, "first"));
  sender.send(text_frame(2, large));
  sender.send(text_frame(3, ""));
  std::vector<std::size_t> sizes;
  while (sizes.size() < 3) {
    sender.flush();
    receiver.receive([&](const frame& got) {
      CHECK(got.type() == sizes.size() + 1);
      sizes.push_back(got.payload().size());
    });
  }
  CHECK(sizes == std::vector<std::size_t>{5, large.size(), 0});
  CHECK(!sender.has_output());
}

TEST_CASE("output that cannot be sent is dropped whole, and the next frame begins at its start") {
  auto [left, right] = connected();
  frame_link link(shielded_fd(std::move(left)), {});
  link.send(text_frame(1, std::string(3'000'000, 'x')));
  link.flush();
  CHECK(link.has_output());  // a part of it is under way
  right.reset();
  link.flush();
  CHECK(!link.has_output());
  // Another connection in the place of the broken one shows what is sent next.
  auto [fresh, other] = connected();
  REQUIRE(::dup2(fresh.get(), link.fd()) == link.fd());
  link.send(text_frame(2, "short"));
  link.flush();
  CHECK(!link.has_output());
  frame_link receiver(shielded_fd(std::move(other)), {});
  int received = 0;
  receiver.receive([&](const frame& got) {
    CHECK(got.type() == 2);
    CHECK(got.payload().size() == 5);
    ++received;
  });
  CHECK(received == 1);
}
