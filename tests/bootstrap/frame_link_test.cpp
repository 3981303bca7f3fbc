// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/frame_link.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <utility>

#include "bootstrap/byte_stream.hpp"

using namespace heddle;

namespace {

std::atomic<std::size_t> largest_allocation = 0;

}  // namespace

// Not inlined: GCC would see new and free where they are used, and take them for a mismatch.
[[gnu::noinline]] void* operator new(std::size_t size) {
  auto largest = largest_allocation.load();
  while (size > largest && !largest_allocation.compare_exchange_weak(largest, size)) continue;
  if (void* made = std::malloc(size)) return made;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* made) noexcept { std::free(made); }
[[gnu::noinline]] void operator delete(void* made, std::size_t /*size*/) noexcept {
  std::free(made);
}

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

TEST_CASE("memory grows with what has come, not with what a frame announces") {
  for (const std::uint32_t announced : {std::uint32_t{frame::longest}, 0xffffffffu}) {
    CAPTURE(announced);
    auto [left, right] = connected();
    frame_link receiver(shielded_fd(std::move(right)), {});
    byte_writer header;
    header.number(announced).number(std::uint16_t{1}).number(std::uint16_t{0});
    const std::vector<std::byte> some(100'000);
    REQUIRE(::send(left.get(), header.bytes().data(), header.bytes().size(), 0) == 8);
    REQUIRE(::send(left.get(), some.data(), some.size(), 0) == 100'000);
    largest_allocation = 0;
    CHECK(!receiver.receive_one());
    CHECK(largest_allocation < 1'000'000);
    const bool is_allowed = announced <= frame::longest;
    CHECK(receiver.current() == (is_allowed ? frame_link::state::open : frame_link::state::failed));
    CHECK(receiver.problem() == (is_allowed ? "" : "it sent a message of 4294967295 bytes"));
  }
}
