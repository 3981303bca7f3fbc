// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

#include <doctest/doctest.h>

#include "proxy_job.hpp"

namespace heddle::testing {
namespace {

/// Every atomic, by one PE, on another's word.
template <class T>
void each_atomic(test_pe& self) {
  if (self.pe != 0) return;
  const auto& team = self.team;
  auto* word = self.user<T>(64);
  const auto now = [&] {
    team.fence();
    return team.atomic_fetch(word, 1);
  };
  const T high = static_cast<T>(T{1} << (sizeof(T) * 8 - 1));
  team.atomic_set(word, T{5}, 1);
  expect(now() == 5, "set");
  expect(team.atomic_swap(word, high, 1) == 5 && now() == high, "swap");
  expect(team.atomic_fetch_add(word, T(high + 3), 1) == high && now() == 3, "fetch_add wraps");
  team.atomic_add(word, T(0) - T(1), 1);
  expect(now() == 2, "add");
  expect(team.atomic_fetch_inc(word, 1) == 2 && now() == 3, "fetch_inc");
  team.atomic_inc(word, 1);
  expect(now() == 4, "inc");
  expect(team.atomic_compare_swap(word, T{3}, T{9}, 1) == 4 && now() == 4, "a swap that is not");
  expect(team.atomic_compare_swap(word, T{4}, T{0xf0}, 1) == 4 && now() == 0xf0, "compare_swap");
  expect(team.atomic_fetch_and(word, T{0x3c}, 1) == 0xf0 && now() == 0x30, "fetch_and");
  team.atomic_and(word, T{0x21}, 1);
  expect(now() == 0x20, "and");
  expect(team.atomic_fetch_or(word, T{3}, 1) == 0x20 && now() == 0x23, "fetch_or");
  team.atomic_or(word, high, 1);
  expect(now() == static_cast<T>(high | 0x23), "or");
  expect(team.atomic_fetch_xor(word, T{1}, 1) == static_cast<T>(high | 0x23), "fetch_xor");
  expect(now() == static_cast<T>(high | 0x22), "xor, fetched");
  team.atomic_xor(word, high, 1);
  expect(now() == 0x22, "xor");
  // The words beside it are as they were.
  expect(team.g(self.user<T>(64) - 1, 1) == 0 && team.g(self.user<T>(64) + 1, 1) == 0,
         "a word beside it was changed");
}

TEST_CASE("every atomic, on 4 and 8 bytes, with and without its old value") {
  proxy_job job({.n_pes = 2});
  job.run([](test_pe& self) {
    each_atomic<std::uint32_t>(self);
    self.barrier();
    each_atomic<std::uint64_t>(self);
    self.barrier();
    if (self.pe == 0) {
      self.team.atomic_set(self.user<double>(256), 2.5, 1);
      expect(self.team.atomic_swap(self.user<double>(256), -1.0, 1) == 2.5, "swap of a double");
      expect(self.team.atomic_fetch(self.user<float>(300), 1) == 0.0f, "fetch of a float");
    }
  });
}

/// All PEs, the owner of the words too, by several threads and contexts.
template <class T>
void concurrent(proxy_job& job, test_pe& self, std::size_t at) {
  constexpr int threads = 2;
  const int n = rounds(60);
  const auto* failure = "";
  std::mutex guard;
  {
    std::vector<std::jthread> all;
    for (int t = 0; t < threads; ++t)
      all.emplace_back([&, t] {
        const team_ref team = self.team.context(t);
        const int bit = self.pe * threads + t;
        T last = 0;
        for (int i = 0; i < n; ++i) {
          const T before = team.atomic_fetch_add(self.user<T>(at), T{1}, 0);
          if (i > 0 && before <= last) {
            const std::scoped_lock lock(guard);
            failure = "a counter went back";
          }
          last = before;
          team.atomic_add(self.user<T>(at + 8), T(bit + 1), 0);
          team.atomic_xor(self.user<T>(at + 16), T(T{1} << bit), 0);
          if (i % 2)
            team.atomic_or(self.user<T>(at + 24), T(T{1} << bit), 0);
          else
            team.atomic_fetch_and(self.user<T>(at + 24), T(~(T{1} << bit)), 0);
          // An increment by compare-and-swap: lost by nobody.
          for (T seen = team.atomic_fetch(self.user<T>(at + 32), 0);;) {
            const T found = team.atomic_compare_swap(self.user<T>(at + 32), seen, T(seen + 1), 0);
            if (found == seen || team.aborted()) break;
            seen = found;
          }
        }
      });
  }
  expect(*failure == 0, failure);
  self.barrier();
  // quiet of context 0 is not one of context 1.
  self.team.context(1).quiet();
  self.barrier();
  if (self.pe != 0) return;
  const T workers = static_cast<T>(job.n_pes() * threads);
  const auto word = [&](std::size_t offset) { return load(self.user<T>(at + offset), acquire); };
  expect(word(0) == workers * T(n), fmt::format("fetch_add: {} of {}", word(0), workers * T(n)));
  expect(word(8) == T(n) * (workers * (workers + 1) / 2), fmt::format("add: {}", word(8)));
  expect(word(16) == (n % 2 ? T((T{1} << workers) - 1) : 0), fmt::format("xor: {}", word(16)));
  expect(word(24) == (n % 2 == 0 ? T((T{1} << workers) - 1) : 0),
         fmt::format("or, and: {}", word(24)));
  expect(word(32) == workers * T(n), fmt::format("compare_swap: {}", word(32)));
}

TEST_CASE("concurrent atomics of all PEs lose nothing") {
  for (const int n_pes : {2, 3}) {
    proxy_job job({.n_pes = n_pes});
    job.run([&](test_pe& self) {
      concurrent<std::uint64_t>(job, self, 1024);
      concurrent<std::uint32_t>(job, self, 2048);
    });
  }
}

TEST_CASE("signals that add from all PEs are all counted") {
  proxy_job job({.n_pes = 3});
  job.run([&](test_pe& self) {
    const int n = rounds(1000);
    for (int i = 0; i < n; ++i)
      self.team.context(i).update_signal(thread_group{}, self.user<std::uint64_t>(), 3,
                                         signal_op::add, 0);
    if (self.pe == 0)
      self.wait(self.user<std::uint64_t>(), cmp::eq, static_cast<std::uint64_t>(n) * 9, "the sum");
  });
}

}  // namespace
}  // namespace heddle::testing
