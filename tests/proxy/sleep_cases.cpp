// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// A proxy with nothing to do sleeps, and wakes for a peer.

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <chrono>

#include "proxy_job.hpp"

namespace heddle::testing {
namespace {

double seconds_of_processor() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

TEST_CASE("proxies with nothing to do take no processor") {
  constexpr int n_pes = 3;
  proxy_job job({.n_pes = n_pes});
  job.run([](test_pe& self) {
    // Connections are there, and everything has been used.
    std::vector<std::byte> source(100'000);
    self.team.put(one, self.user(), source.data(), source.size(), self.right());
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const double before = seconds_of_processor();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  const double used = (seconds_of_processor() - before) / n_pes;
  // Where the network gives no events the proxy looks for itself, a thousand times a second.
  const bool gives_events = chosen_network().gives_events;
  CHECK(used < (gives_events ? 0.015 : 0.05));
}

TEST_CASE("a sleeping proxy wakes for a peer's put, get and atomic by itself") {
  proxy_job job({.n_pes = 2});
  std::atomic<bool> is_done{false};
  job.run([&](test_pe& self) {
    self.barrier();
    if (self.pe == 1) {
      // Helps nobody: what is asked of it its proxy does alone.
      const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(50);
      while (!is_done && std::chrono::steady_clock::now() < limit)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      expect(is_done, "the other PE did not get through");
      expect(load(self.user<std::uint64_t>(0), acquire) == 1, "the word that was put");
      return;
    }
    std::vector<std::byte> got(100'000);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    self.team.p(self.user<std::uint64_t>(0), std::uint64_t{1}, 1);
    self.team.quiet();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    self.team.put(one, self.user(1000), got.data(), got.size(), 1);
    self.team.quiet();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    self.team.get(one, got.data(), self.user(1000), got.size(), 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    expect(self.team.atomic_fetch(self.user<std::uint64_t>(0), 1) == 1, "the word, asked for");
    is_done = true;
  });
}

TEST_CASE("what a thread posts and leaves alone is carried out") {
  proxy_job job({.n_pes = 2, .meets_at_end = false});
  std::atomic<bool> is_done{false};
  job.run([&](test_pe& self) {
    // Neither side helps after the post: proxies alone do all of it, from their sleep.
    static std::vector<std::byte> source(200'000, std::byte{9});
    for (std::uint64_t i = 1; i <= 5; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(60));
      if (self.pe == 0)
        self.team.put_signal_nbi(one, self.user(64), source.data(), source.size(),
                                 self.user<std::uint64_t>(0), i, signal_op::set, 1);
      const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (self.pe == 1 && load(self.user<std::uint64_t>(0), acquire) < i) {
        expect(std::chrono::steady_clock::now() < limit, "the signal never came");
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
    if (self.pe == 1) {
      expect(*self.user(64 + 199'999) == std::byte{9}, "the data is not there");
      is_done = true;
    }
    while (!is_done) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
}

TEST_CASE("the end of a row of messages arrives, though nobody waits for anything") {
  proxy_job job({.n_pes = 2, .meets_at_end = false});
  std::atomic<bool> is_done{false};
  std::atomic<std::uint64_t> answered{0};
  job.run([&](test_pe& self) {
    // Rows of many lengths, so that all kinds of ends are there: alone, held, sent with others.
    // Long ones between make that messages are held soon, whatever ends came late.
    std::uint64_t sent = 0;
    for (std::uint64_t n = 1; n <= 60; ++n) {
      auto* word = self.user<std::uint64_t>(0);
      for (std::uint64_t i = 0; i < (n % 4 == 0 ? 1000 : n); ++i) {
        ++sent;
        if (self.pe == 0)
          self.team.send(self.user<byte>(64 + 8 * (sent % 4)), reinterpret_cast<byte*>(&sent),
                         sizeof sent, word, sent, 1);
      }
      const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (self.pe == 1 && load(word, acquire) < sent) {
        expect(std::chrono::steady_clock::now() < limit, "the end of a row never came");
        std::this_thread::yield();
      }
      // The answer goes beside the network.
      if (self.pe == 1) answered = n;
      while (self.pe == 0 && answered < n) std::this_thread::yield();
    }
    if (self.pe == 1) {
      expect(*self.user<std::uint64_t>(64 + 8 * (sent % 4)) == sent, "what was sent last");
      is_done = true;
    }
    while (!is_done) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
}

}  // namespace
}  // namespace heddle::testing
