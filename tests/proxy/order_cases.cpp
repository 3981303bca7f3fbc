// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// Litmus tests: what must not be seen before what. Many times, with sizes by chance.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include "proxy_job.hpp"

namespace heddle::testing {
namespace {

constexpr std::size_t area = 128 << 10;  ///< of data, for one stream of messages

/// Small and large in turn, by chance.
std::size_t some_size(test_pe& self) {
  constexpr std::size_t most[] = {8, 64, 600, 3000, 20'000, area};
  return 1 + self.below(most[self.below(std::size(most))]);
}

struct stream {
  int context;
  std::size_t data;    ///< offsets in the users' memory
  std::size_t ready;   ///< a signal, at the receiver
  std::size_t credit;  ///< a signal, at the sender
  std::size_t sizes;   ///< what the sender says of its rounds
};

/// `send(team, data, source, size, round)` puts the data and updates `ready` to the round.
template <class Send>
void run_streams(const char* what, int n_pes, int n_streams, int n, const Send& send) {
  proxy_job job({.n_pes = n_pes, .contexts = 3, .user_bytes = std::size_t{4} << 20});
  job.run([&](test_pe& self) {
    std::mutex guard;
    std::string failure;
    {
      std::vector<std::jthread> threads;
      for (int s = 0; s < n_streams; ++s)
        threads.emplace_back([&, s] {
          try {
            test_pe mine(job, self.pe);
            mine.random.seed(job.seed() * 31 + static_cast<std::uint64_t>(self.pe * 100 + s));
            const stream here{
                .context = s % 3,
                .data = static_cast<std::size_t>(s) * area,
                .ready = (std::size_t{3} << 20) + static_cast<std::size_t>(s) * 256,
                .credit = (std::size_t{3} << 20) + 64 * 256 + static_cast<std::size_t>(s) * 256,
                .sizes = 0};
            const team_ref team = mine.team.context(here.context);
            std::vector<std::byte> source(area);
            // All PEs draw the same sizes for a stream.
            std::mt19937_64 left_sizes(job.seed() + static_cast<std::uint64_t>(s));
            for (std::uint64_t round = 1; round <= static_cast<std::uint64_t>(n); ++round) {
              mine.random.seed(left_sizes());
              const std::size_t size = some_size(mine);
              const auto salt = [&](int pe) {
                return round * 1000 + static_cast<std::uint64_t>(pe * 10 + s);
              };
              fill({source.data(), size}, salt(mine.pe));
              send(team, mine.user(here.data), source.data(), size,
                   mine.user<std::uint64_t>(here.ready), round, mine.right());
              mine.wait(mine.user<std::uint64_t>(here.ready), cmp::ge, round, "the signal");
              expect_filled({mine.user(here.data), size}, salt(mine.left()),
                            fmt::format("{}, stream {}, round {}", what, s, round));
              team.update_signal(one, mine.user<std::uint64_t>(here.credit), 1, signal_op::add,
                                 mine.left());
              mine.wait(mine.user<std::uint64_t>(here.credit), cmp::ge, round, "the credit");
            }
          } catch (const std::exception& failed) {
            const std::scoped_lock lock(guard);
            failure = failed.what();
          }
        });
    }
    expect(failure.empty(), failure);
  });
}

TEST_CASE("a signal is never seen before its put's data") {
  const auto set = [](team_ref team, std::byte* data, std::byte* source, std::size_t size,
                      std::uint64_t* ready, std::uint64_t round, int pe) {
    team.put_signal(one, data, source, size, ready, round, signal_op::set, pe);
  };
  const auto add = [](team_ref team, std::byte* data, std::byte* source, std::size_t size,
                      std::uint64_t* ready, std::uint64_t /*round*/, int pe) {
    team.put_signal_nbi(one, data, source, size, ready, 1, signal_op::add, pe);
  };
  run_streams("put_signal set", 2, 1, rounds(400), set);
  run_streams("put_signal set", 3, 4, rounds(60), set);
  run_streams("put_signal add", 2, 3, rounds(60), add);
}

TEST_CASE("a signal is never seen before earlier puts, small and large in any order") {
  run_streams("puts, signal", 2, 2, rounds(120),
              [](team_ref team, std::byte* data, std::byte* source, std::size_t size,
                 std::uint64_t* ready, std::uint64_t round, int pe) {
                const std::size_t first = round % 2 ? size / 8 : size - size / 8;
                team.put_nbi(one, data, source, first, pe);
                team.put_nbi(one, data + first, source + first, size - first, pe);
                team.update_signal(one, ready, round, signal_op::set, pe);
              });
}

TEST_CASE("a fence orders puts before a flag: p, atomics and puts") {
  run_streams("put, fence, p", 2, 2, rounds(120),
              [](team_ref team, std::byte* data, std::byte* source, std::size_t size,
                 std::uint64_t* ready, std::uint64_t round, int pe) {
                team.put_nbi(one, data, source, size, pe);
                team.fence();
                team.p(ready, round, pe);
              });
  run_streams("put, fence, atomic", 2, 2, rounds(120),
              [](team_ref team, std::byte* data, std::byte* source, std::size_t size,
                 std::uint64_t* ready, std::uint64_t round, int pe) {
                team.put_nbi(one, data, source, size, pe);
                team.fence();
                if (round % 2)
                  team.atomic_add(ready, std::uint64_t{1}, pe);
                else
                  team.atomic_set(ready, round, pe);
              });
  run_streams("put, fence, fetching atomic", 2, 1, rounds(120),
              [](team_ref team, std::byte* data, std::byte* source, std::size_t size,
                 std::uint64_t* ready, std::uint64_t round, int pe) {
                team.put_nbi(one, data, source, size, pe);
                team.fence();
                const auto before = team.atomic_compare_swap(ready, round - 1, round, pe);
                expect(before == round - 1, "the flag was not what it had been set to");
              });
}

TEST_CASE("a fence orders puts to one place: the last stays") {
  proxy_job job({.n_pes = 2, .user_bytes = std::size_t{1} << 20});
  job.run([&](test_pe& self) {
    constexpr int depth = 6;
    std::vector<std::vector<std::byte>> source(depth, std::vector<std::byte>(area));
    for (int round = 0; round < rounds(100); ++round) {
      std::size_t least = area;
      for (int i = 0; i < depth; ++i) {
        const std::size_t size = some_size(self);
        const std::uint64_t salt =
            static_cast<std::uint64_t>(round) * depth + static_cast<std::uint64_t>(i) + 1;
        fill({source[static_cast<std::size_t>(i)].data(), size}, salt);
        self.team.put_nbi(one, self.user(), source[static_cast<std::size_t>(i)].data(), size,
                          self.right());
        self.team.fence();
        least = size;
      }
      // The last put is there when the signal is, and nothing that came before it is put after.
      self.team.update_signal(one, self.user<std::uint64_t>(area), least, signal_op::set,
                              self.right());
      self.barrier();
      const std::size_t size = *self.user<std::uint64_t>(area);
      expect_filled({self.user(), size}, static_cast<std::uint64_t>(round) * depth + depth,
                    fmt::format("round {}: the last of {} puts", round, depth));
      self.barrier();
    }
  });
}

TEST_CASE("after quiet every PE sees what was put, whoever asks") {
  proxy_job job({.n_pes = 3, .user_bytes = std::size_t{4} << 20});
  job.run([&](test_pe& self) {
    std::vector<std::byte> source(area), got(area);
    auto* mine = self.user(static_cast<std::size_t>(self.pe) * area);
    auto* lefts = self.user(static_cast<std::size_t>(self.left()) * area);
    auto* told = self.user<std::uint64_t>(std::size_t{2} << 20);
    for (std::uint64_t round = 1; round <= static_cast<std::uint64_t>(rounds(100)); ++round) {
      const std::size_t size = some_size(self);
      fill({source.data(), size}, round * 8 + static_cast<std::uint64_t>(self.pe));
      // To the left one; the right one looks there.
      self.team.put_nbi(one, mine, source.data(), size, self.left());
      self.team.quiet();
      self.team.get(one, got.data(), mine, size, self.left());
      expect_filled({got.data(), size}, round * 8 + static_cast<std::uint64_t>(self.pe),
                    fmt::format("round {}: own put, got back", round));
      self.team.update_signal(one, told, round << 32 | size, signal_op::set, self.right());
      self.wait(told, cmp::ge, round << 32, "the left one's put");
      const std::size_t left_size = load(told, acquire) & 0xffffffff;
      self.team.get(one, got.data(), lefts, left_size, (self.left() + self.n_pes - 1) % self.n_pes);
      expect_filled({got.data(), left_size}, round * 8 + static_cast<std::uint64_t>(self.left()),
                    fmt::format("round {}: another PE's put", round));
      self.barrier();
    }
  });
}

}  // namespace
}  // namespace heddle::testing
