// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>

#include "job.hpp"

using namespace heddle;
using namespace heddle::conformance;

namespace {

/// Reads until what was written is there: a write's completion alone may not say so.
void expect_written(test_pe& self, std::span<const std::byte> source, const remote_place& place,
                    std::span<std::byte> back) {
  self.wait(fmt::format("{} bytes that were written", source.size()), [&] {
    self.read(back, place);
    return std::equal(source.begin(), source.end(), back.begin());
  });
}

}  // namespace

TEST_CASE("writes and reads of every size and alignment move exactly their bytes") {
  run_job({}, [](test_pe& self) {
    self.expose(0, self.heap().size());
    const int peer = 1 - self.pe();
    constexpr std::size_t most = 300001;
    const auto source = self.local(most + 8);
    const auto back = self.local(most + 8);
    std::uint64_t salt = 10 + static_cast<std::uint64_t>(self.pe());
    for (std::size_t size : {1,   2,   3,   7,   8,    9,    63,   64,   65,    127,   128,
                             129, 255, 256, 257, 1000, 4095, 4096, 4097, 65537, 300001})
      for (std::size_t shift : {0, 1, 5}) {
        const std::uint64_t at = 4096 + shift;
        fill(source.subspan(shift, size), ++salt);
        self.write({peer, 0, at}, source.subspan(shift, size));
        expect_written(self, source.subspan(shift, size), {peer, 0, at}, back.subspan(shift, size));
        // One byte more on both sides is as it was.
        std::byte beside[2];
        const auto ends = self.local(2);
        self.read(ends.first(1), {peer, 0, at - 1});
        self.read(ends.last(1), {peer, 0, at + 300001});
        std::copy(ends.begin(), ends.end(), beside);
        expect(beside[0] == std::byte{0} || shift > 0, "the byte in front was written");
        expect(beside[1] == std::byte{0}, "a byte behind was written");
      }
  });
}

TEST_CASE("a write of nothing is done, and counted where writes are, and touches nothing") {
  run_job({}, [](test_pe& self) {
    self.expose(0, self.heap().size());
    const auto source = self.local(8);
    fill(source, 3);
    for (const std::uint64_t at : {std::uint64_t{0}, std::uint64_t{77}, self.heap().size() - 1})
      self.write({1 - self.pe(), 0, at}, source.first(0));
    if (self.network().about().order == transport::message_order::counted)
      self.wait("the other's writes", [&] { return self.told.arrived.size() == 3; });
    self.meet();
    expect(std::all_of(self.heap().begin(), self.heap().end(),
                       [](std::byte each) { return each == std::byte{0}; }),
           "a write of nothing wrote");
  });
}

TEST_CASE("64 MiB go through, in as many pieces as the network wants") {
  run_job({.heap_bytes = 64 << 20, .deadline = 60}, [](test_pe& self) {
    self.expose(0, self.heap().size());
    if (self.pe() == 0) {
      const auto source = self.local(64 << 20);
      std::minstd_rand random(static_cast<unsigned>(self.seed()));
      for (std::size_t i = 0; i + 8 <= source.size(); i += 8) {
        const std::uint64_t word = i * 0x9e3779b97f4a7c15 + random();
        std::memcpy(source.data() + i, &word, sizeof word);
      }
      self.write({1, 0, 0}, source);
      const auto back = self.local(64 << 20);
      expect_written(self, source, {1, 0, 0}, back);
    }
  });
}

TEST_CASE("memory may be exposed in pieces, later too, and exposed anew") {
  run_job({.n_pes = 3}, [](test_pe& self) {
    constexpr std::size_t piece = 64 << 10;
    const auto source = self.local(piece);
    const auto back = self.local(piece);
    const int right = (self.pe() + 1) % 3;
    const auto write_to = [&](std::size_t offset) {
      fill(source, offset + static_cast<std::uint64_t>(self.pe()));
      self.write({right, 0, offset}, source);
      expect_written(self, source, {right, 0, offset}, back);
    };
    for (std::size_t offset : {std::size_t{0}, piece, 3 * piece}) {
      self.expose(offset, piece);
      for (std::size_t known = 0; known <= offset; known += piece)
        if (known != 2 * piece) write_to(known);
    }
    self.meet();
    self.network().conceal(0, piece);
    self.expose(piece, piece);
    write_to(piece);
    // In other pieces.
    self.meet();
    self.network().conceal(0, 0);
    self.network().conceal(0, piece);
    self.expose(piece / 2, piece);
    write_to(piece / 2);
    const auto half = source.first(piece / 2);
    fill(half, self.seed());
    self.write({right, 0, piece}, half);
    expect_written(self, half, {right, 0, piece}, back.first(piece / 2));
  });
}

TEST_CASE("every token completes once, in whatever order, with many under way") {
  run_job({}, [](test_pe& self) {
    self.expose(0, self.heap().size());
    constexpr std::size_t n = 3000;
    constexpr std::size_t size = 100;
    const int peer = 1 - self.pe();
    const auto source = self.local(n * size);
    const auto back = self.local(n * size);
    fill(source, self.seed());
    std::vector<std::uint64_t> tokens;
    for (std::size_t i = 0; i < n; ++i) {
      tokens.push_back(self.next_token());
      self.wait("room for a write", [&] {
        return self.network().post_write(0, {peer, 0, i * size}, source.data() + i * size, size,
                                         tokens.back(), self.next_immediate(peer));
      });
    }
    for (std::size_t i = 0; i < n; ++i) {
      tokens.push_back(self.next_token());
      self.wait("room for a read", [&] {
        return self.network().post_read(0, back.data() + i * size, {peer, 0, i * size}, size,
                                        tokens.back());
      });
    }
    self.wait("all tokens", [&] { return self.told.completed.size() == tokens.size(); });
    for (auto token : tokens) expect(self.told.completed.contains(token), "a token is missing");
    expect_written(self, source, {peer, 0, 0}, back);
  });
}

TEST_CASE("atomics of the network are indivisible and tell what they found") {
  run_job({.n_pes = 3}, [](test_pe& self) {
    self.expose(0, self.heap().size());
    if (!self.network().about().has_atomics) return;
    constexpr std::uint64_t steps = 300;
    const remote_place counter{0, 0, 64};
    const remote_place lock{0, 0, 128};
    if (self.pe() != 0) {
      std::uint64_t last = 0;
      for (std::uint64_t i = 0; i < steps; ++i) {
        const auto found = self.atomic(network_atomic::fetch_add, counter, 1);
        expect(i == 0 || found > last, "a counter went back");
        last = found;
      }
      // From 0, PE 1 replaces even values and PE 2 odd ones: each only once.
      const auto odd = static_cast<std::uint64_t>(self.pe() - 1);
      for (std::uint64_t i = 0; i < steps; ++i)
        self.wait("the other PE's step", [&] {
          const auto compare = 2 * i + odd;
          return self.atomic(network_atomic::compare_swap, lock, compare + 1, compare) == compare;
        });
    }
    self.meet();
    if (self.pe() == 1) {
      const auto last = self.atomic(network_atomic::fetch_add, counter, 0);
      expect(last == 2 * steps, fmt::format("the counter is {}, not {}", last, 2 * steps));
      const auto value = self.atomic(network_atomic::fetch_add, lock, 0);
      expect(value == 2 * steps, fmt::format("the word is {}, not {}", value, 2 * steps));
    }
  });
}

TEST_CASE("writes to a PE that does nothing are refused at last, and all arrive") {
  std::atomic<bool> full{false};
  run_job({.heap_bytes = 8 << 20, .deadline = 60}, [&](test_pe& self) {
    self.expose(0, self.heap().size());
    constexpr std::size_t size = 64 << 10;
    constexpr std::size_t places = 128;
    constexpr std::size_t most = 2000;
    // Connected, which takes both.
    self.send(1 - self.pe(), std::vector<std::byte>(1));
    self.receive();
    self.meet();
    if (self.pe() == 1) {
      self.sleep_until("the other PE has posted all it can", [&] { return full.load(); });
      return;
    }
    const auto source = self.local(self.heap().size());
    fill(source, 5);
    std::size_t posted = 0;
    int refusals = 0;
    while (posted < most && refusals < 1000) {
      const std::size_t at = posted % places * size;
      if (self.network().post_write(0, {1, 0, at}, source.data() + at, size, self.next_token(),
                                    self.next_immediate(1))) {
        ++posted;
        refusals = 0;
      } else {
        ++refusals;
        self.network().progress(self.told);
      }
    }
    full = true;
    self.wait("all writes", [&] { return self.told.completed.size() == posted; });
    const auto back = self.local(size);
    expect_written(self, source.first(size), {1, 0, 0}, back);
  });
}
