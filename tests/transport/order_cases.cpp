// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// What a message promises of the writes posted before it: the promise that signals after data are
// made of.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "job.hpp"

using namespace heddle;
using namespace heddle::conformance;

namespace {

constexpr int slots = 8;  ///< rounds that may be under way
constexpr std::size_t slot_bytes = 64 << 10;
constexpr std::size_t most_writes = 6;

/// Sent after the writes of a round.
struct written_message {
  std::uint64_t round;
  std::uint32_t n_writes;
  std::uint32_t immediates[most_writes];
  std::uint32_t sizes[most_writes];
  std::uint32_t is_answer;
};

template <class Message>
std::span<const std::byte> bytes_of(const Message& message) {
  return std::as_bytes(std::span(&message, 1));
}

std::uint64_t salt_of(std::uint64_t round, std::size_t write) { return round * 16 + write; }

/// The sender's half: writes to the round's slot at the peer, then says so.
class writer {
 public:
  explicit writer(test_pe& self, int peer)
      : self_(self), peer_(peer), source_(self.local(slots * slot_bytes)), random_(self.seed()) {}

  void send(std::uint64_t round) {
    written_message said{};
    said.round = round;
    said.n_writes = static_cast<std::uint32_t>(random_() % (most_writes + 1));
    const std::size_t slot = round % slots * slot_bytes;
    const auto order = self_.network().about().order;
    std::vector<std::uint64_t> tokens;
    for (std::size_t i = 0, at = slot; i < said.n_writes; ++i) {
      constexpr std::size_t sizes[] = {1, 8, 100, 1000, 5000, 10000};
      const std::size_t size = sizes[random_() % std::size(sizes)];
      fill(source_.subspan(at, size), salt_of(round, i));
      said.sizes[i] = static_cast<std::uint32_t>(size);
      said.immediates[i] = self_.next_immediate(peer_);
      const bool wants_token =
          order == transport::message_order::after_completions || random_() % 2 == 0;
      const auto token = wants_token ? self_.next_token() : transport::no_token;
      if (wants_token) tokens.push_back(token);
      self_.wait("room for a write", [&] {
        return self_.network().post_write(0, {peer_, 0, at}, source_.data() + at, size, token,
                                          said.immediates[i]);
      });
      at += size;
    }
    if (order == transport::message_order::after_completions)
      self_.wait("completions", [&] {
        return std::all_of(tokens.begin(), tokens.end(),
                           [&](auto token) { return self_.told.completed.contains(token); });
      });
    self_.send(peer_, bytes_of(said));
  }

 private:
  test_pe& self_;
  int peer_;
  std::span<std::byte> source_;
  std::minstd_rand random_;
};

void expect_round(test_pe& self, const written_message& said) {
  std::size_t at = said.round % slots * slot_bytes;
  for (std::size_t i = 0; i < said.n_writes; ++i) {
    expect_filled(self.heap().subspan(at, said.sizes[i]), salt_of(said.round, i),
                  fmt::format("round {}, write {} of {}", said.round, i + 1, said.n_writes));
    at += said.sizes[i];
  }
}

bool all_arrived(const record& told, const written_message& said) {
  return std::all_of(said.immediates, said.immediates + said.n_writes,
                     [&](auto immediate) { return told.arrived.contains(immediate); });
}

/// Both PEs write and look at the same time, `rounds` each; an answer frees a slot.
void write_and_look(test_pe& self, std::uint64_t rounds) {
  self.expose(0, self.heap().size());
  const int peer = 1 - self.pe();
  writer out(self, peer);
  std::uint64_t looked = 0;
  std::uint64_t answered = 0;
  std::deque<written_message> to_look;
  const bool counted = self.network().about().order == transport::message_order::counted;
  std::uint64_t to_answer = 0;
  self.told.give_messages_to([&](std::span<const std::byte> message) {
    written_message said{};
    expect(message.size() == sizeof said, "a message of another size");
    std::memcpy(&said, message.data(), sizeof said);
    if (said.is_answer != 0) {
      ++answered;
      return;
    }
    expect(said.round == looked + to_look.size(), "a message out of order");
    to_look.push_back(said);
    if (counted) return;
    expect_round(self, said);
    to_look.pop_front();
    ++looked;
    ++to_answer;
  });
  const auto answer = [&] {
    while (!to_look.empty() && all_arrived(self.told, to_look.front())) {
      expect_round(self, to_look.front());
      to_look.pop_front();
      ++looked;
      ++to_answer;
    }
    written_message said{};
    said.is_answer = 1;
    for (; to_answer > 0; --to_answer) self.send(peer, bytes_of(said));
  };
  for (std::uint64_t round = 0; round < rounds; ++round) {
    self.wait("an answer", [&] {
      answer();
      return round < answered + slots;
    });
    out.send(round);
  }
  self.wait("the last answers", [&] {
    answer();
    return answered == rounds && looked == rounds;
  });
}

}  // namespace

TEST_CASE("a message after writes keeps its promise of them") {
  run_job({.heap_bytes = slots * slot_bytes, .deadline = 60},
          [](test_pe& self) { write_and_look(self, 1000); });
}

TEST_CASE("where all is ordered, a write waits for the messages before it") {
  run_job({}, [](test_pe& self) {
    if (!self.network().about().is_ordered) return;
    // Before the last meeting, as the other PE may leave it first: each looks when it is told.
    std::uint64_t told = 0;
    std::uint64_t early = 0;
    self.told.give_messages_to([&](std::span<const std::byte> message) {
      std::uint64_t here = 0;
      std::memcpy(&told, message.data(), sizeof told);
      std::memcpy(&here, self.heap().data(), sizeof here);
      if (here != told - 1) ++early;
    });
    self.expose(0, self.heap().size());
    constexpr std::uint64_t rounds = 500;
    if (self.pe() == 0) {
      std::vector<std::uint64_t> sources(rounds + 1);
      for (std::uint64_t round = 1; round <= rounds; ++round) {
        sources[round] = round;
        self.send(1, bytes_of(round));
        self.write({1, 0, 0}, bytes_of(sources[round]), round % 10 == 0 || round == rounds);
      }
      self.meet();
      return;
    }
    self.wait("the last message", [&] { return told == rounds; });
    expect(early == 0, "a write came before the message that it was posted after, or too late");
    self.meet();
  });
}
