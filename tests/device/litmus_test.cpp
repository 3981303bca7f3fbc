// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "device/local_team.hpp"

// Litmus tests of the memory model (docs/memory-model.md): small programs whose forbidden outcomes
// must not be seen, many times over. Under ThreadSanitizer each is also a check that the ordering
// is there and not luck.

using namespace heddle;
using heddle::testing::local_team;

namespace {

int block_threads() {
  const char* threads = std::getenv("HEDDLE_DEV_TEST_THREADS");
  return threads ? std::atoi(threads) : 2;
}

constexpr int rounds = 400;
constexpr std::size_t words = 61;

/// What a PE has in its user memory: a flag on a line of its own, an answer flag, data.
struct layout {
  alignas(cache_line) heddle::signal flag;
  alignas(cache_line) heddle::signal answer;
  alignas(cache_line) uint64_t word;
  alignas(cache_line) std::array<uint64_t, words> data;
  alignas(cache_line) std::array<uint64_t, words> source;
};

enum class publication { signal_set, signal_add, fence_flag, quiet_flag, fence_atomic };
enum class scope { thread, warp, block };

/// PE 0 writes data and publishes it; PE 1 waits, checks every word and answers; both again.
struct message_passing {
  publication how;
  scope who;
  std::array<layout*, 2> memory;
  bool* wrong;

  template <group G>
  void send(G group, team_ref team, layout* mine, uint64_t round) const {
    for (std::size_t i = static_cast<std::size_t>(group.rank()); i < words;
         i += static_cast<std::size_t>(group.size()))
      mine->source[i] = round * 1000 + i;
    group.sync();
    switch (how) {
      case publication::signal_set:
        team.put_signal(group, mine->data.data(), mine->source.data(), words, &mine->flag, round,
                        signal_op::set, 1);
        return;
      case publication::signal_add:
        team.put_signal(group, mine->data.data(), mine->source.data(), words, &mine->flag,
                        uint64_t{1}, signal_op::add, 1);
        return;
      default:
        break;
    }
    team.put(group, mine->data.data(), mine->source.data(), words, 1);
    if (group.rank() != 0) return;
    if (how == publication::fence_flag) {
      team.fence();
      team.p(&mine->flag, round, 1);
    } else if (how == publication::quiet_flag) {
      team.quiet();
      team.p(&mine->flag, round, 1);
    } else {
      team.fence();
      team.atomic_add(&mine->flag, uint64_t{1}, 1);
    }
  }

  template <group G>
  void run(G group, team_ref team) const {
    layout* mine = memory[static_cast<std::size_t>(team.my_pe())];
    for (uint64_t round = 1; round <= rounds; ++round) {
      if (team.my_pe() == 0) {
        send(group, team, mine, round);
        team.wait_until(group, &mine->answer, cmp::ge, round);
      } else {
        team.wait_until(group, &mine->flag, cmp::ge, round);
        for (std::size_t i = 0; i < words; ++i)
          if (mine->data[i] != round * 1000 + i) *wrong = true;
        team.update_signal(group, &mine->answer, round, signal_op::set, 0);
      }
      group.sync();
    }
  }
};

struct message_passing_kernel {
  message_passing test;
  team_ref team;
  void operator()(host_block block) const {
    switch (test.who) {
      case scope::thread:
        if (block.rank() == 0) test.run(block.thread(), team);
        break;
      case scope::warp:
        test.run(block.warp(), team);
        break;
      case scope::block:
        test.run(block, team);
        break;
    }
  }
};

}  // namespace

TEST_CASE("who sees the flag sees the data, however it was published and by whichever group") {
  for (auto how : {publication::signal_set, publication::signal_add, publication::fence_flag,
                   publication::quiet_flag, publication::fence_atomic})
    for (auto who : {scope::thread, scope::warp, scope::block}) {
      CAPTURE(static_cast<int>(how));
      CAPTURE(static_cast<int>(who));
      local_team team(2, {.threads = block_threads()});
      bool wrong = false;
      team.run([&](int pe) {
        team.launch(
            pe, 1,
            message_passing_kernel{{how, who, {team.user<layout>(0), team.user<layout>(1)}, &wrong},
                                   team.ref(pe)});
      });
      CHECK_FALSE(wrong);
      CHECK_FALSE(team.ref(0).aborted());
    }
}

TEST_CASE("store buffering: after quiet, two PEs cannot both miss the other's store") {
  local_team team(2, {});
  std::array<std::vector<uint64_t>, 2> seen;
  team.run([&](int pe) {
    const auto ref = team.ref(pe);
    const thread_group thread;
    auto* mine = team.user<layout>(pe);
    for (uint64_t round = 1; round <= 5000; ++round) {
      // Each stores in its own word, in both directions at once, and then looks at the other's.
      ref.p(&mine->word, round, pe);
      ref.quiet();
      seen[static_cast<std::size_t>(pe)].push_back(ref.atomic_fetch(&mine->word, 1 - pe));
      (void)ref.barrier(thread);
    }
  });
  int both_missed = 0;
  for (uint64_t round = 1; round <= 5000; ++round)
    both_missed += seen[0][round - 1] < round && seen[1][round - 1] < round;
  CHECK(both_missed == 0);
}

TEST_CASE("barriers can follow each other at once: all writes before one are seen after it") {
  for (int n_pes : {2, 5, 16, 17, 20}) {
    CAPTURE(n_pes);
    local_team team(n_pes, {.threads = n_pes <= 5 ? block_threads() : 1, .user_bytes = 1 << 20});
    bool wrong = false;
    const int count = n_pes > 5 ? 100 : 1500;
    team.run([&](int pe) {
      struct kernel {
        const local_team* team;
        int pe, count;
        bool* wrong;
        void operator()(host_block block) const {
          const auto ref = team->ref(pe);
          auto* mine = team->user<uint64_t>(pe);
          for (uint64_t round = 1; round <= static_cast<uint64_t>(count); ++round) {
            for (int to = block.rank(); to < ref.n_pes(); to += block.size())
              ref.put(block.thread(), mine + ref.my_pe(), &round, 1, to);
            if (ref.barrier(block, static_cast<int>(round % 3)) != wait_status::ok) return;
            for (int from = 0; from < ref.n_pes(); ++from)
              if (mine[from] != round) *wrong = true;
            if (ref.barrier(block, static_cast<int>(round % 3)) != wait_status::ok) return;
          }
        }
      };
      team.launch(pe, 1, kernel{&team, pe, count, &wrong});
    });
    CHECK_FALSE(wrong);
    CHECK_FALSE(team.ref(0).aborted());
  }
}

namespace {

template <class Word>
void check_atomics(const local_team& team) {
  const int n = team.n_pes();
  constexpr int adds = 2000;
  team.run([&](int pe) {
    const auto ref = team.ref(pe);
    auto* word = team.user<Word>(pe, sizeof(Word) == 4 ? 0 : 4096);
    std::vector<bool> fetched;
    for (int i = 0; i < adds; ++i) {
      ref.atomic_fetch_add(word, Word{1}, 0);
      ref.atomic_inc(word + 1, 0);
      ref.atomic_or(word + 2, static_cast<Word>(Word{1} << (pe + i % 7)), 0);
      ref.atomic_xor(word + 3, static_cast<Word>(pe + 1), 0);
      // A counter by compare and swap.
      Word old = ref.atomic_fetch(word + 4, 0);
      for (Word now;
           (now = ref.atomic_compare_swap(word + 4, old, static_cast<Word>(old + 1), 0)) != old;)
        old = now;
    }
    (void)ref.barrier(thread_group{});
    if (ref.atomic_fetch(word, 0) != static_cast<Word>(n * adds))
      throw std::runtime_error("fetch_add");
    if (ref.atomic_fetch(word + 1, 0) != static_cast<Word>(n * adds))
      throw std::runtime_error("inc");
    if (ref.atomic_fetch(word + 3, 0) != 0) throw std::runtime_error("xor");
    if (ref.atomic_fetch(word + 4, 0) != static_cast<Word>(n * adds))
      throw std::runtime_error("compare_swap");
    Word bits = 0;
    for (int p = 0; p < n; ++p)
      for (int i = 0; i < 7; ++i) bits |= static_cast<Word>(Word{1} << (p + i));
    if (ref.atomic_fetch(word + 2, 0) != bits) throw std::runtime_error("or");
    (void)ref.barrier(thread_group{});
    if (pe == 1) {
      ref.atomic_set(word + 5, Word{12}, 0);
      if (ref.atomic_swap(word + 5, Word{10}, 0) != 12) throw std::runtime_error("swap");
      if (ref.atomic_fetch_and(word + 5, Word{6}, 0) != 10) throw std::runtime_error("fetch_and");
      if (ref.atomic_fetch_or(word + 5, Word{5}, 0) != 2) throw std::runtime_error("fetch_or");
      if (ref.atomic_fetch_xor(word + 5, Word{1}, 0) != 7) throw std::runtime_error("fetch_xor");
      if (ref.atomic_fetch_inc(word + 5, 0) != 6) throw std::runtime_error("fetch_inc");
      if (ref.atomic_compare_swap(word + 5, Word{99}, Word{1}, 0) != 7)
        throw std::runtime_error("cas");
      if (ref.g(word + 5, 0) != 7) throw std::runtime_error("g");
    }
  });
}

}  // namespace

TEST_CASE("atomics are indivisible, 32 and 64 bits, signed and unsigned") {
  local_team team(3, {});
  CHECK_NOTHROW(check_atomics<uint32_t>(team));
  CHECK_NOTHROW(check_atomics<uint64_t>(team));
  local_team other(2, {.table = true});
  CHECK_NOTHROW(check_atomics<int32_t>(other));
  CHECK_NOTHROW(check_atomics<int64_t>(other));
}

TEST_CASE("put and get move any size from and to any alignment, by every scope") {
  local_team team(2, {.threads = block_threads()});
  bool wrong = false;
  team.run([&](int pe) {
    struct kernel {
      const local_team* team;
      int pe;
      bool* wrong;
      void operator()(host_block block) const {
        const auto ref = team->ref(pe);
        auto* mine = team->user<byte>(pe);
        for (size_t n : {0, 1, 3, 15, 16, 17, 63, 64, 65, 1000, 70001})
          for (size_t skew : {0, 1, 5, 8}) {
            byte* source = mine + (1 << 20) + skew;
            byte* target = mine + (2 << 20) + 3 * skew;
            byte* back = mine + (3 << 20);
            for (size_t i = static_cast<size_t>(block.rank()); i < n;
                 i += static_cast<size_t>(block.size()))
              source[i] = static_cast<byte>(i * 7 + n + static_cast<size_t>(pe));
            block.sync();
            ref.put(block, target, source, n, 1 - pe);
            if (ref.barrier(block) != wait_status::ok) return;
            ref.get(block, back, target, n, 1 - pe);
            if (block.rank() == 0)
              for (size_t i = 0; i < n; ++i) {
                if (target[i] != static_cast<byte>(i * 7 + n + static_cast<size_t>(1 - pe)))
                  *wrong = true;
                if (back[i] != source[i]) *wrong = true;
              }
            if (ref.barrier(block) != wait_status::ok) return;
          }
      }
    };
    team.launch(pe, 1, kernel{&team, pe, &wrong});
  });
  CHECK_FALSE(wrong);
}

TEST_CASE(
    "a bounded wait of one's own times out alone; one past the team's deadline aborts the team, "
    "with its record") {
  local_team team(3, {.threads = block_threads(), .timeout = 0.2});
  struct kernel {
    const local_team* team;
    int pe;
    std::array<wait_status, 4>* seen;
    void operator()(host_block block) const {
      const auto ref = team->ref(pe);
      auto* mine = team->user<layout>(pe);
      const auto tried = ref.try_wait_until(block, &mine->flag, cmp::eq, uint64_t{7}, 1'000'000);
      const auto met = ref.barrier(block);  // the team goes on
      wait_status waited = wait_status::ok;
      if (pe != 2) waited = ref.wait_until(block, &mine->flag, cmp::ge, uint64_t{9});
      if (block.rank() == 0) *seen = {tried, met, waited, wait_status::ok};
    }
  };
  std::array<std::array<wait_status, 4>, 3> seen{};
  team.run([&](int pe) {
    team.launch(pe, 1, kernel{&team, pe, &seen[static_cast<std::size_t>(pe)]});
  });
  int timeouts = 0;
  for (int pe = 0; pe < 3; ++pe) {
    const auto& of = seen[static_cast<std::size_t>(pe)];
    CHECK(of[0] == wait_status::timeout);
    CHECK(of[1] == wait_status::ok);
    if (pe < 2) CHECK(of[2] != wait_status::ok);
    timeouts += of[2] == wait_status::timeout;
    CHECK(team.ref(pe).aborted());  // PE 2 too, which was not waiting
  }
  CHECK(timeouts >= 1);
  for (int pe = 0; pe < 2; ++pe) {
    if (seen[static_cast<std::size_t>(pe)][2] != wait_status::timeout) continue;
    const auto& record = team.ref(pe).memory()->failure;
    CHECK(record.state == 2);
    CHECK(record.operation == static_cast<uint32_t>(operation::wait_until));
    CHECK(record.expected == 9);
    CHECK(record.seen == 0);
    CHECK(record.waited_ns >= 200'000'000);
    CHECK(team.heap(pe) + record.address == reinterpret_cast<byte*>(&team.user<layout>(pe)->flag));
  }
}
