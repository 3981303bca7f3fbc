// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// Strided, non-blocking and ordered one-sided operations of kernels, on the device that
// HEDDLE_DEVICE chooses (see kernels_test.cpp).

#include <doctest/doctest.h>

#include <heddle/device/launch.hpp>
#include <heddle/device_array.hpp>
#include <heddle/heddle.hpp>
#include <heddle/symmetric_array.hpp>
#include <string>
#include <vector>

#include "kernels/on_device.hpp"

using namespace heddle;
using namespace heddle::testing;

namespace {

/// Each block, in a context of its own, with its part of the buffers: every second element to every
/// third place of the right, and every fifth of the left to every second of its own.
struct exchange_strided {
  template <block_group Block>
  HEDDLE_FN void operator()(Block block, team_ref world, int* to, const int* from, int* got,
                            heddle::size_t n) const {
    const team_ref team = world.context(block.block_rank());
    const auto part = static_cast<heddle::size_t>(block.block_rank());
    const int right = (team.my_pe() + 1) % team.n_pes();
    const int left = (team.my_pe() + team.n_pes() - 1) % team.n_pes();
    team.iput(block, to + 3 * n * part, from + 5 * n * part, 3, 2, n, right);
    team.iget(block, got + 2 * n * part, from + 5 * n * part + 1, 2, 5, n, left);
    (void)team.barrier(block, block.block_rank());
  }
};

/// Round by round a row to the right, with a signal that does not wait for it, and the left's row
/// fetched back; `wrong` counts what differs.
struct pass_without_waiting {
  template <block_group Block>
  HEDDLE_FN void operator()(Block block, team_ref team, int* inbox, int* mine, int* fetched,
                            heddle::signal* ready, heddle::size_t n, int rounds, int* wrong) const {
    const int right = (team.my_pe() + 1) % team.n_pes();
    const int left = (team.my_pe() + team.n_pes() - 1) % team.n_pes();
    const auto rank = static_cast<heddle::size_t>(block.rank());
    const auto size = static_cast<heddle::size_t>(block.size());
    for (int round = 1; round <= rounds; ++round) {
      for (auto i = rank; i < n; i += size)
        mine[i] = 1000 * round + team.my_pe() + static_cast<int>(i % 7);
      block.sync();
      team.put_signal_nbi(block, inbox, mine, n, ready, uint64_t{1}, signal_op::add, right);
      wait_status seen = wait_status::timeout;
      while (seen == wait_status::timeout)
        seen = team.try_wait_until(block, ready, cmp::ge, static_cast<uint64_t>(round), 100'000);
      if (seen != wait_status::ok) return;
      team.get_nbi(block, fetched, mine, n, left);
      team.quiet();
      block.sync();
      for (auto i = rank; i < n; i += size) {
        const int theirs = 1000 * round + left + static_cast<int>(i % 7);
        if (inbox[i] != theirs || fetched[i] != theirs) *wrong = round;
      }
      // Nobody writes the next round before all have looked.
      if (team.barrier(block) != wait_status::ok) return;
    }
  }
};

/// A word, a fence, and a flag: who sees the flag sees the word, through p and through atomics.
struct word_then_flag {
  template <block_group Block>
  HEDDLE_FN void operator()(Block block, team_ref team, uint64_t* words, uint64_t* flags,
                            int rounds, int* wrong) const {
    if (block.rank() != 0) return;
    const thread_group alone;
    const int right = (team.my_pe() + 1) % team.n_pes();
    for (int round = 1; round <= rounds; ++round) {
      const auto value = static_cast<uint64_t>(round);
      team.p(words + round, 3 * value, right);
      team.fence();
      if (round % 2 == 0)
        team.p(flags, value, right);
      else
        team.atomic_set(flags, value, right);
      if (team.wait_until(alone, flags, cmp::ge, value) != wait_status::ok) return;
      if (words[round] != 3 * value) *wrong = round;
    }
  }
};

int value_of(int pe, std::size_t i) { return 100'000 * (pe + 1) + static_cast<int>(i); }

}  // namespace

TEST_CASE("kernels put and get what lies apart, each block in a context of its own") {
  for (const int n_pes : pe_counts({1, 2, 3, 5})) {
    CAPTURE(n_pes);
    for (const std::size_t n :
         {std::size_t{0}, std::size_t{1}, std::size_t{37}, std::size_t{700}}) {
      CAPTURE(n);
      run_pes(n_pes, [&](runtime& self) {
        constexpr int blocks = 3;
        const auto world = self.world();
        const auto queue = self.create_stream();
        const int left = (self.my_pe() + n_pes - 1) % n_pes;
        const std::size_t room = blocks * n;
        symmetric_array<int> to(self, 3 * room + 1), from(self, 5 * room + 1);
        const device_array<int> got(self, 2 * room + 1);
        std::vector<int> mine(5 * room + 1);
        for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = value_of(self.my_pe(), i);
        write(queue, from.data(), mine);
        write(queue, to.data(), std::vector<int>(3 * room + 1, -1));
        write(queue, got.data(), std::vector<int>(2 * room + 1, -1));
        world.barrier();
        launch(queue, blocks, threads(), exchange_strided{}, world.ref(), to.data(),
               static_cast<const int*>(from.data()), got.data(), n);
        std::vector<int> put(3 * room + 1, -1), fetched(2 * room + 1, -1);
        for (std::size_t block = 0; block < blocks; ++block)
          for (std::size_t i = 0; i < n; ++i) {
            put[3 * n * block + 3 * i] = value_of(left, 5 * n * block + 2 * i);
            fetched[2 * n * block + 2 * i] = value_of(left, 5 * n * block + 1 + 5 * i);
          }
        check(read(queue, static_cast<const int*>(to.data()), put.size()) == put, "iput");
        check(read(queue, static_cast<const int*>(got.data()), fetched.size()) == fetched, "iget");
        world.barrier();
      });
    }
  }
}

TEST_CASE("kernels put, signal and get without waiting in between") {
  for (const int n_pes : pe_counts({1, 2, 3, 5}))
    for (const std::size_t n : {std::size_t{1}, std::size_t{333}, std::size_t{20'000}}) {
      CAPTURE(n_pes);
      CAPTURE(n);
      run_pes(n_pes, [&](runtime& self) {
        const auto world = self.world();
        const auto queue = self.create_stream();
        symmetric_array<int> inbox(self, n), mine(self, n);
        symmetric_array<heddle::signal> ready(self, 1);
        const device_array<int> fetched(self, n), wrong(self, 1);
        write(queue, wrong.data(), std::vector<int>{0});
        world.barrier();
        launch(queue, 1, threads(), pass_without_waiting{}, world.ref(), inbox.data(), mine.data(),
               fetched.data(), ready.data(), n, 20, wrong.data());
        check(read(queue, static_cast<const int*>(wrong.data()), 1)[0] == 0, "a round's row");
        world.barrier();
      });
    }
}

TEST_CASE("a fence orders words before the flags that come after it") {
  for (const int n_pes : pe_counts({1, 2, 3, 5})) {
    CAPTURE(n_pes);
    run_pes(n_pes, [&](runtime& self) {
      constexpr int rounds = 200;
      const auto world = self.world();
      const auto queue = self.create_stream();
      symmetric_array<std::uint64_t> words(self, rounds + 1), flags(self, 1);
      const device_array<int> wrong(self, 1);
      write(queue, wrong.data(), std::vector<int>{0});
      world.barrier();
      launch(queue, 1, threads(), word_then_flag{}, world.ref(), words.data(), flags.data(), rounds,
             wrong.data());
      check(read(queue, static_cast<const int*>(wrong.data()), 1)[0] == 0,
            "a word behind its flag");
      world.barrier();
    });
  }
}
