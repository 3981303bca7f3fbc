// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <latch>
#include <stdexcept>
#include <string>
#include <thread>

#include "device/local_team.hpp"
#include "doctest/cut_short.hpp"

// Litmus tests of the memory model (docs/memory-model.md): small programs whose forbidden outcomes
// must not be seen, many times over. Under ThreadSanitizer each is also a check that the ordering
// is there and not luck.

using namespace heddle;
using heddle::testing::block_threads;
using heddle::testing::local_team;

namespace {

constexpr int rounds = 400;
constexpr std::size_t words = 61;

/// What a PE has in its user memory: a flag on a line of its own, an answer flag, data.
struct layout {
  alignas(cache_line) heddle::signal flag;
  alignas(cache_line) uint32_t small_flag;
  alignas(cache_line) heddle::signal answer;
  alignas(cache_line) uint64_t word;
  alignas(cache_line) std::array<uint64_t, words> data;
  alignas(cache_line) std::array<uint64_t, words> source;
};

enum class publication {
  signal_set,
  signal_add,
  update_set,
  update_add,
  update_of_stores,
  fence_flag,
  fence_flag_of_4_bytes,
  fence_atomic,
  quiet_flag,
  quiet_nbi
};
constexpr std::array publications = {
    publication::signal_set,       publication::signal_add, publication::update_set,
    publication::update_add,       publication::fence_flag, publication::fence_flag_of_4_bytes,
    publication::update_of_stores, publication::quiet_flag, publication::quiet_nbi,
    publication::fence_atomic};
enum class looking { wait_until, try_wait_until, test };
enum class scope { thread, warp, block };

/// PE 0 writes data and publishes it; PE 1 looks for the flag, checks every word and answers; both
/// again. The first half of the data is an earlier put.
struct message_passing {
  publication how;
  looking eye;
  scope who;
  std::array<layout*, 2> memory;
  std::atomic<bool>* wrong;

  template <group G>
  static void write_source(G group, layout* mine, uint64_t value) {
    for (auto i = static_cast<std::size_t>(group.rank()); i < words;
         i += static_cast<std::size_t>(group.size()))
      mine->source[i] = value + i;
  }

  template <group G>
  void send(G group, team_ref team, layout* mine, uint64_t round) const {
    constexpr std::size_t half = words / 2;
    uint64_t* data = mine->data.data();
    uint64_t* source = mine->source.data();
    if (how == publication::update_of_stores) {
      // Every thread writes where the other PE reads, and none waits for the others.
      uint64_t* target = team.ptr(data, 1);
      for (auto i = static_cast<std::size_t>(group.rank()); i < words;
           i += static_cast<std::size_t>(group.size()))
        target[i] = round * 1000 + i;
      team.update_signal(group, &mine->flag, round, signal_op::set, 1);
      return;
    }
    write_source(group, mine, round * 1000);
    group.sync();
    if (how == publication::quiet_nbi) {
      team.put_nbi(group, data, source, words, 1);
      team.quiet();
      group.sync();
    } else {
      team.put(group, data, source, half, 1);
      if (how == publication::signal_set || how == publication::signal_add) {
        const bool set = how == publication::signal_set;
        team.put_signal(group, data + half, source + half, words - half, &mine->flag,
                        set ? round : uint64_t{1}, set ? signal_op::set : signal_op::add, 1);
        return;
      }
      team.put(group, data + half, source + half, words - half, 1);
    }
    write_source(group, mine, 7);  // the local buffer may be reused, by any thread
    switch (how) {
      case publication::update_set:
        team.update_signal(group, &mine->flag, round, signal_op::set, 1);
        return;
      case publication::update_add:
        team.update_signal(group, &mine->flag, uint64_t{1}, signal_op::add, 1);
        return;
      default:
        break;
    }
    // The flag is one thread's: it orders what the group has put, since put has synchronised it.
    if (group.rank() != 0) return;
    if (how == publication::quiet_flag)
      team.quiet();
    else if (how != publication::quiet_nbi)
      team.fence();
    if (how == publication::fence_atomic)
      team.atomic_add(&mine->flag, uint64_t{1}, 1);
    else if (how == publication::fence_flag_of_4_bytes)
      team.p(&mine->small_flag, static_cast<uint32_t>(round), 1);
    else
      team.p(&mine->flag, round, 1);
  }

  template <group G, class Word>
  wait_status look(G group, team_ref team, const Word* flag, Word round) const {
    switch (eye) {
      case looking::wait_until:
        return team.wait_until(group, flag, cmp::ge, round);
      case looking::try_wait_until:
        for (;;) {
          const auto status = team.try_wait_until(group, flag, cmp::ge, round, 50'000);
          if (status != wait_status::timeout) return status;
        }
      case looking::test:
        break;
    }
    while (!team.test(group, flag, cmp::ge, round)) {
      if (team.aborted()) return wait_status::aborted;
      std::this_thread::yield();
    }
    return wait_status::ok;
  }

  template <group G>
  void run(G group, team_ref team) const {
    layout* mine = memory[static_cast<std::size_t>(team.my_pe())];
    for (uint64_t round = 1; round <= rounds; ++round) {
      if (team.my_pe() == 0) {
        send(group, team, mine, round);
        team.wait_until(group, &mine->answer, cmp::ge, round);
      } else {
        if (how == publication::fence_flag_of_4_bytes)
          look(group, team, &mine->small_flag, static_cast<uint32_t>(round));
        else
          look(group, team, &mine->flag, round);
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

TEST_CASE(
    "who sees the flag sees the data, however it was published, looked for and by whichever "
    "group") {
  for (auto how : publications)
    for (auto eye : {looking::wait_until, looking::try_wait_until, looking::test})
      for (auto who : {scope::thread, scope::warp, scope::block}) {
        CAPTURE(static_cast<int>(how));
        CAPTURE(static_cast<int>(eye));
        CAPTURE(static_cast<int>(who));
        local_team team(2, {.threads = block_threads(2)});
        std::atomic<bool> wrong{false};
        team.run([&](int pe) {
          team.launch(pe, 1,
                      message_passing_kernel{
                          {how, eye, who, {team.user<layout>(0), team.user<layout>(1)}, &wrong},
                          team.ref(pe)});
        });
        CHECK_FALSE(wrong);
        CHECK_FALSE(team.ref(0).aborted());
      }
}

TEST_CASE("after quiet a put is visible on every PE: whoever hears of it can get it") {
  // PE 0 puts to PE 1 and tells PE 2, which gets it from PE 1.
  local_team team(3, {.threads = block_threads(2)});
  std::atomic<bool> wrong{false};
  struct kernel {
    const local_team* team;
    int pe;
    std::atomic<bool>* wrong;
    void operator()(host_block block) const {
      const auto ref = team->ref(pe);
      auto* mine = team->user<layout>(pe);
      for (uint64_t round = 1; round <= rounds; ++round) {
        if (pe == 0) {
          for (auto i = static_cast<std::size_t>(block.rank()); i < words;
               i += static_cast<std::size_t>(block.size()))
            mine->source[i] = round * 1000 + i;
          block.sync();
          ref.put(block, mine->data.data(), mine->source.data(), words, 1);
          ref.quiet();
          if (block.rank() == 0) ref.p(&mine->flag, round, 2);
        } else if (pe == 2) {
          if (ref.wait_until(block, &mine->flag, cmp::ge, round) != wait_status::ok) return;
          ref.get(block, mine->source.data(), mine->data.data(), words, 1);
          // Every thread may read what all of them got.
          for (std::size_t i = 0; i < words; ++i)
            if (mine->source[i] != round * 1000 + i) *wrong = true;
        }
        if (ref.barrier(block) != wait_status::ok) return;
      }
    }
  };
  team.run([&](int pe) { team.launch(pe, 1, kernel{&team, pe, &wrong}); });
  CHECK_FALSE(wrong);
  CHECK_FALSE(team.ref(0).aborted());
}

TEST_CASE("get sees what a barrier published, blocking or not") {
  local_team team(3, {.threads = block_threads(2)});
  std::atomic<bool> wrong{false};
  struct kernel {
    const local_team* team;
    int pe;
    std::atomic<bool>* wrong;
    void operator()(host_block block) const {
      const auto ref = team->ref(pe);
      auto* mine = team->user<layout>(pe);
      const auto value = [](uint64_t round, int of, std::size_t i) {
        return round * 10'000 + static_cast<uint64_t>(of) * 1000 + i;
      };
      for (uint64_t round = 1; round <= rounds; ++round) {
        // Plain stores of every thread in its own memory; then each PE takes its neighbour's.
        for (auto i = static_cast<std::size_t>(block.rank()); i < words;
             i += static_cast<std::size_t>(block.size()))
          mine->data[i] = value(round, pe, i);
        if (ref.barrier(block) != wait_status::ok) return;
        const int from = (pe + 1) % ref.n_pes();
        if (round % 2 == 0) {
          ref.get(block, mine->source.data(), mine->data.data(), words, from);
        } else {
          ref.get_nbi(block, mine->source.data(), mine->data.data(), words, from);
          ref.quiet();
          block.sync();
        }
        for (std::size_t i = 0; i < words; ++i)
          if (mine->source[i] != value(round, from, i)) *wrong = true;
        if (ref.barrier(block) != wait_status::ok) return;
      }
    }
  };
  team.run([&](int pe) { team.launch(pe, 1, kernel{&team, pe, &wrong}); });
  CHECK_FALSE(wrong);
  CHECK_FALSE(team.ref(0).aborted());
}

TEST_CASE("sync gathers: none leaves before all have come; over mapped memory it is a barrier") {
  for (int n_pes : {2, 5, 17}) {
    CAPTURE(n_pes);
    local_team team(n_pes, {.threads = n_pes <= 5 ? block_threads(2) : 1, .user_bytes = 1 << 20});
    std::atomic<bool> early{false};
    std::atomic<bool> missing{false};
    std::atomic<uint64_t> arrivals{0};
    struct kernel {
      const local_team* team;
      int pe;
      std::atomic<uint64_t>* arrivals;
      std::atomic<bool>*early, *missing;
      void operator()(host_block block) const {
        const auto ref = team->ref(pe);
        auto* mine = team->user<uint64_t>(pe);
        const auto n = static_cast<uint64_t>(ref.n_pes());
        for (uint64_t round = 1; round <= 200; ++round) {
          if (block.rank() == 0) {
            arrivals->fetch_add(1, std::memory_order_relaxed);
            ref.put(block.thread(), mine + pe, &round, 1, (pe + 1) % ref.n_pes());
          }
          if (ref.sync(block) != wait_status::ok) return;
          if (arrivals->load(std::memory_order_relaxed) < round * n) *early = true;
          const int left = (pe + ref.n_pes() - 1) % ref.n_pes();
          if (mine[left] != round) *missing = true;
          if (ref.sync(block) != wait_status::ok) return;
        }
      }
    };
    team.run([&](int pe) { team.launch(pe, 1, kernel{&team, pe, &arrivals, &early, &missing}); });
    CHECK_FALSE(early);
    CHECK_FALSE(missing);
    CHECK_FALSE(team.ref(0).aborted());
  }
}

namespace {

/// One PE writes words whose parts are all alike, the other reads them, without any order.
template <class Word>
bool words_are_whole(Word part_of_one) {
  local_team team(2, {});
  std::atomic<bool> torn{false};
  std::atomic<bool> done{false};
  team.run([&](int pe) {
    const auto ref = team.ref(pe);
    auto* word = team.user<Word>(pe);
    if (pe == 0) {
      for (int i = 0; i < 200'000; ++i)
        ref.p(word, static_cast<Word>(part_of_one * static_cast<Word>(i % 251)), 1);
      done = true;
    } else {
      // Both ways of reading: g of the own copy, as of any PE's, and a fetch.
      while (!done) {
        for (const Word seen : {ref.g(word, 1), ref.atomic_fetch(word, 1)})
          if (seen != static_cast<Word>(part_of_one * static_cast<Word>(seen & 0xff))) torn = true;
        std::this_thread::yield();
      }
    }
  });
  return !torn;
}

}  // namespace

TEST_CASE("p and g of 4 and of 8 bytes are whole: no reader sees half of one") {
  CHECK(words_are_whole<uint32_t>(0x01010101u));
  CHECK(words_are_whole<uint64_t>(0x0101010101010101u));
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
    local_team team(n_pes, {.threads = n_pes <= 5 ? block_threads(2) : 1, .user_bytes = 1 << 20});
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
  local_team team(2, {.threads = block_threads(2)});
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
  local_team team(3, {.threads = block_threads(2), .timeout = 1});
  std::latch all_met(3 * block_threads(2));
  struct kernel {
    const local_team* team;
    int pe;
    std::latch* all_met;
    std::array<wait_status, 4>* seen;
    void operator()(host_block block) const {
      const auto ref = team->ref(pe);
      auto* mine = team->user<layout>(pe);
      const auto tried = ref.try_wait_until(block, &mine->flag, cmp::eq, uint64_t{7}, 1'000'000);
      const auto met = ref.barrier(block);  // the team goes on
      all_met->arrive_and_wait();           // nobody is in the barrier when it is aborted
      wait_status waited = wait_status::ok;
      if (pe != 2) waited = ref.wait_until(block, &mine->flag, cmp::ge, uint64_t{9});
      if (block.rank() == 0) *seen = {tried, met, waited, wait_status::ok};
    }
  };
  std::array<std::array<wait_status, 4>, 3> seen{};
  team.run([&](int pe) {
    team.launch(pe, 1, kernel{&team, pe, &all_met, &seen[static_cast<std::size_t>(pe)]});
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
    const auto& record = team.ref(pe).control(pe)->failure;
    CHECK(record.state == 2);
    CHECK(record.operation == static_cast<uint32_t>(operation::wait_until));
    CHECK(record.expected == 9);
    CHECK(record.seen == 0);
    CHECK(record.waited_ns >= 1'000'000'000);
    CHECK(team.heap(pe) + record.address == reinterpret_cast<byte*>(&team.user<layout>(pe)->flag));
  }
}
