// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// PEs that die while others deal with them.

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>

#include "proxy_job.hpp"

namespace heddle::testing {
namespace {

using clock = std::chrono::steady_clock;

/// In every PE's memory.
constexpr std::size_t known_word = 192;
constexpr std::uint64_t known = 99;

/// What was fetched from there, which is that, or the team has failed.
void expect_known(test_pe& self, std::uint64_t fetched) {
  expect(fetched == known || self.team.aborted(),
         fmt::format("PE {} goes on with {} of a PE that is lost", self.pe, fetched));
}

enum class loss : std::uint8_t {
  death,
  of_network  ///< the PE lives, and the network says that it cannot be reached
};

/// `use(PE, dead)` waits for the dead PE in some way; all that do end, and know of whom. Whoever
/// reaches for it is told by the network, where that tells, before a wait passes its deadline.
void one_is_lost(const char* what, loss how, const std::function<void(test_pe&, int)>& use,
                 bool reaches) {
  constexpr int dead = 2;
  // After the network tells of it, if it does, on a busy machine too.
  const bool is_told = how == loss::of_network || (reaches && chosen_network().tells_of_loss);
  const double timeout = 2 * chosen_network().tells_loss_in + (is_told ? 5 : 0);
  // More than a slow peer takes nothing for, where PEs do not wait for this to tell of the loss.
  const double network_timeout = chosen_network().tells_of_loss ? 3 : 1;
  proxy_job job({.n_pes = 3,
                 .contexts = 2,
                 .timeout = timeout,
                 .network_timeout = network_timeout,
                 .meets_at_end = false});
  std::atomic<int> is_used{0}, has_ended{0}, were_told{0};
  job.run([&](test_pe& self) {
    *self.user<std::uint64_t>(known_word) = known;
    // All have dealt with each other: connections are there.
    self.team.context(1).atomic_add(self.user<std::uint64_t>(), std::uint64_t{1}, self.right());
    self.team.context(1).quiet();
    self.barrier();
    if (self.pe == dead) {
      while (is_used < 2)
        self.team.test(one, self.user<std::uint64_t>(8), cmp::ne, std::uint64_t{0});
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      how == loss::death ? job.kill(dead) : job.lose(dead);
      return;
    }
    ++is_used;
    const auto start = clock::now();
    while (!self.team.aborted()) {
      use(self, dead);
      expect(clock::now() - start < std::chrono::seconds(20), "the team was never aborted");
    }
    // In the deadline of the wait, with room for a slow machine.
    expect(clock::now() - start < std::chrono::seconds(15), fmt::format("{}: too late", what));
    const auto told = job.failures(self.pe);
    const auto& control = *reinterpret_cast<const team_control*>(
        job.user(self.pe) - proxy_job::user_offset + proxy_job::control_offset);
    const auto code = abort_code::from_word(load(&control.abort_word, acquire));
    const bool named =
        code.culprit == dead ||
        std::any_of(told.begin(), told.end(), [&](auto& each) { return each.pe == dead; });
    expect(named || code.culprit == -1 || code.reporter != self.pe,
           fmt::format("{}: PE {} blames PE {} (reason {})", what, self.pe, code.culprit,
                       static_cast<int>(code.reason)));
    for (const auto& each : told)
      expect(each.pe == dead && !each.reason.empty(),
             fmt::format("{}: PE {} was told of PE {}: {}", what, self.pe, each.pe, each.reason));
    if (!told.empty() && code.reason == abort_reason::peer_lost) ++were_told;
    // The others go on, in another team: the same PEs' proxies.
    ++has_ended;
    while (has_ended < 2) {
      std::this_thread::yield();
      expect(clock::now() - start < std::chrono::seconds(25), "the other one is stuck");
    }
    // One of them is enough: it tells the other.
    if (is_told)
      expect(were_told > 0, fmt::format("{}: no PE was told of the loss (PE {}: reason {})", what,
                                        self.pe, static_cast<int>(code.reason)));
    const int other = 1 - self.pe;
    auto& queue = job.proxy_of(self.pe).host_ref().queues[1];
    command add{};
    add.kind = command_kind::atomic;
    add.op = static_cast<std::uint8_t>(atomic_op::add);
    add.unit = 8;
    add.flags = command::wants_reply;
    add.pe = other;
    add.remote = proxy_job::user_offset + 128;
    add.value = 7;
    const auto at = queue.try_take(0);
    expect(at != ~std::uint64_t{0}, "the queue is full");
    queue.submit(at, add, nullptr);
    auto& reply = queue.replies[at % command_queue_ref::slots];
    while (load(&reply.stamp, acquire) != at + 1 ||
           load(self.user<std::uint64_t>(128), acquire) != 7) {
      self.team.test(one, self.user<std::uint64_t>(8), cmp::ne, std::uint64_t{0});
      expect(clock::now() - start < std::chrono::seconds(25),
             "the PEs that are left do not reach each other");
    }
    store(&reply.taken, at + 1, release);
  });
}

void one_dies(const char* what, const std::function<void(test_pe&, int)>& use,
              bool reaches = true) {
  one_is_lost(what, loss::death, use, reaches);
  if (chosen_network().loses_peers) one_is_lost(what, loss::of_network, use, reaches);
}

TEST_CASE("who puts to a PE that dies is told") {
  one_dies("put", [](test_pe& self, int dead) {
    static thread_local std::vector<std::byte> source(300'000);
    auto* place = self.user(1000 + static_cast<std::size_t>(self.pe) * 400'000);
    self.team.put(one, place, source.data(), 100, dead);
    self.team.fence();
    self.team.put(one, place, source.data(), source.size(), dead);
    self.team.quiet();
  });
}

TEST_CASE("who gets from a PE that dies is told") {
  one_dies("get", [](test_pe& self, int dead) {
    static thread_local std::vector<std::byte> own(300'000);
    self.team.get(one, own.data(), self.user(1000), own.size(), dead);
    expect_known(self, self.team.g(self.user<std::uint64_t>(known_word), dead));
  });
}

TEST_CASE("who asks a PE that dies for atomics is told") {
  one_dies("atomic", [](test_pe& self, int dead) {
    (void)self.team.atomic_fetch_add(self.user<std::uint64_t>(64), std::uint64_t{1}, dead);
    expect_known(self, self.team.atomic_fetch_xor(self.user<std::uint64_t>(known_word),
                                                  std::uint64_t{0}, dead));
  });
}

TEST_CASE("who waits for a signal of a PE that dies gets on after the deadline") {
  one_dies(
      "wait",
      [](test_pe& self, int) {
        (void)self.team.wait_until(one, self.user<std::uint64_t>(64), cmp::ne, std::uint64_t{0});
      },
      false);
}

TEST_CASE("who floods a PE that dies, from several threads, is told") {
  one_dies("flood", [](test_pe& self, int dead) {
    std::vector<std::jthread> all;
    for (int t = 0; t < 3; ++t)
      all.emplace_back([&self, dead, t] {
        const std::size_t place = 4096 * static_cast<std::size_t>(1 + self.pe * 3 + t);
        std::uint64_t words[40] = {};
        for (int i = 0; i < 500 && !self.team.aborted(); ++i)
          self.team.put_nbi(one, self.user<std::uint64_t>(place), words, 40, dead);
        self.team.quiet();
      });
  });
}

}  // namespace
}  // namespace heddle::testing
