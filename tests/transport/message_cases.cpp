// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>

#include "job.hpp"
#include "networks.hpp"

using namespace heddle;
using namespace heddle::conformance;

namespace {

struct numbered {
  std::uint32_t from;
  std::uint32_t number;
  std::uint32_t size;
};

/// A message that says who sent it, and is filled by that.
std::vector<std::byte> numbered_message(int from, std::uint32_t number, std::size_t size) {
  std::vector<std::byte> message(std::max(size, sizeof(numbered)));
  const numbered head{static_cast<std::uint32_t>(from), number,
                      static_cast<std::uint32_t>(message.size())};
  std::memcpy(message.data(), &head, sizeof head);
  fill(std::span(message).subspan(sizeof head), number * 8 + head.from);
  return message;
}

/// Expects the next message of its sender.
void expect_next(std::span<const std::byte> message, std::map<std::uint32_t, std::uint32_t>& last) {
  numbered head{};
  expect(message.size() >= sizeof head, "a message is cut short");
  std::memcpy(&head, message.data(), sizeof head);
  expect(head.size == message.size(),
         fmt::format("a message of {} bytes has {}", head.size, message.size()));
  expect(head.number == last[head.from] + 1,
         fmt::format("message {} of PE {} came after {}", head.number, head.from, last[head.from]));
  last[head.from] = head.number;
  expect_filled(message.subspan(sizeof head), head.number * 8 + head.from,
                fmt::format("message {} of PE {}", head.number, head.from));
}

/// The PEs reach for each other one after the other.
void make_contact(test_pe& self) {
  for (int first = 0; first < self.n_pes(); ++first)
    for (int other = first + 1; other < self.n_pes(); ++other) {
      const std::vector<std::byte> message(16);
      if (self.pe() == first) self.send(other, message);
      if (self.pe() == other) {
        (void)self.receive();
        self.send(first, message);
      }
      if (self.pe() == first) (void)self.receive();
      self.meet();
    }
}

}  // namespace

TEST_CASE("a transport tells what its limits are, and its addresses and keys keep to theirs") {
  run_job({}, [](test_pe& self) {
    const auto& about = self.network().about();
    expect(!about.name.empty(), "no name");
    expect(about.most_message_bytes >= 256, "messages too short for a command");
    expect(about.eager_bytes <= about.most_message_bytes, "eager writes do not fit a message");
    expect(about.most_transfer_bytes >= 4096, "transfers too short");
    expect(self.network().address().size() <= 256, "the address is too long");
    expect(!self.network().describe(1 - self.pe()).empty(), "no address for people");
    const auto key = self.network().expose(0, 0, self.heap().data(), self.heap().size());
    expect(key.size() <= 64, "the key is too long");
  });
}

TEST_CASE("messages of every size arrive whole and in order") {
  for (int n_pes : {2, 3})
    run_job({.n_pes = n_pes}, [](test_pe& self) {
      if (!chosen_network().orders_crossing_contacts) make_contact(self);
      const auto most = self.network().about().most_message_bytes;
      std::vector<std::size_t> sizes{12, 64, 65, 128, 129, 255, 256, 257, most - 1, most};
      for (std::size_t size = 13; size <= most; size = size * 2 + 1) sizes.push_back(size);
      const int rounds = 20;
      const auto expected = rounds * sizes.size() * static_cast<std::size_t>(self.n_pes() - 1);
      std::map<std::uint32_t, std::uint32_t> last;
      std::size_t received = 0;
      self.told.give_messages_to([&](std::span<const std::byte> message) {
        expect_next(message, last);
        ++received;
      });
      std::uint32_t number = 0;
      for (int round = 0; round < rounds; ++round)
        for (auto size : sizes) {
          ++number;
          for (int pe = 0; pe < self.n_pes(); ++pe)
            if (pe != self.pe()) self.send(pe, numbered_message(self.pe(), number, size));
        }
      self.wait("all messages", [&] { return received == expected; });
    });
}

TEST_CASE("PEs that reach for each other at the same moment get through") {
  for (int round = 0; round < 30; ++round)
    run_job({.n_pes = 2 + round % 2, .heap_bytes = 64, .deadline = 20}, [](test_pe& self) {
      for (int i = 0; i < 3; ++i) {
        for (int pe = 0; pe < self.n_pes(); ++pe)
          if (pe != self.pe()) self.send(pe, std::vector<std::byte>(500));
        for (int pe = 1; pe < self.n_pes(); ++pe) self.receive();
      }
    });
}

TEST_CASE("messages may be filled side by side, posted in any order, or left out") {
  run_job({.n_pes = 3}, [](test_pe& self) {
    std::map<std::uint32_t, std::uint32_t> last;
    std::size_t received = 0;
    self.told.give_messages_to([&](std::span<const std::byte> message) {
      expect_next(message, last);
      ++received;
    });
    for (std::uint32_t number = 1; number <= 100; ++number) {
      std::map<int, std::span<std::byte>> open;
      for (int pe = 0; pe < 3; ++pe)
        if (pe != self.pe())
          self.wait("a place",
                    [&] { return !(open[pe] = self.network().begin_message(0, pe)).empty(); });
      for (auto& [pe, place] : open) {
        const auto message = numbered_message(self.pe(), number, 100 + number);
        std::copy(message.begin(), message.end(), place.begin());
      }
      for (auto each = open.rbegin(); each != open.rend(); ++each)
        self.network().post_message(0, each->first, each->second, 100 + number);
      std::span<std::byte> unused;
      const int peer = (self.pe() + 1) % 3;
      self.wait("a place",
                [&] { return !(unused = self.network().begin_message(0, peer)).empty(); });
      self.network().post_message(0, peer, unused, 0);
    }
    self.wait("all messages", [&] { return received == 200; });
  });
}

TEST_CASE(
    "more is posted than a PE takes: the rest is refused until it does, and nothing is lost") {
  std::atomic<bool> full{false};
  run_job({}, [&](test_pe& self) {
    constexpr std::uint32_t most = 20000;
    constexpr std::size_t size = 2000;
    std::map<std::uint32_t, std::uint32_t> last;
    std::uint32_t sent = 0;
    // A connection may need both sides; one of them sleeps below.
    self.send(1 - self.pe(), std::vector<std::byte>(8));
    self.receive();
    self.meet();
    if (self.pe() == 0) {
      // Enough for every buffer on the way; what has room for all of it refuses nothing.
      while (sent < most) {
        const auto place = self.network().begin_message(0, 1);
        if (place.empty() && sent > 0 && !self.network().progress(self.told)) break;
        if (place.empty()) continue;
        const auto message = numbered_message(0, ++sent, size);
        std::copy(message.begin(), message.end(), place.begin());
        self.network().post_message(0, 1, place, size);
      }
      full = true;
      self.send(1, numbered_message(0, ++sent, sizeof(numbered)));
      return;
    }
    self.sleep_until("the other PE has posted all it can", [&] { return full.load(); });
    bool ended = false;
    self.told.give_messages_to([&](std::span<const std::byte> message) {
      expect_next(message, last);
      ended = message.size() == sizeof(numbered);
    });
    self.wait("the last message", [&] { return ended; });
  });
}
