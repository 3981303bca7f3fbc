// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <heddle/heddle_typed.h>
#include <sys/mman.h>

#include <chrono>
#include <cstring>
#include <heddle/heddle.hpp>
#include <memory>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "doctest/run_pes.hpp"

// One-sided operations of the host APIs, checked against what a program without heddle would hold.
// On whichever device HEDDLE_DEVICE names: symmetric memory is looked at by put and get alone.

using namespace heddle;
using heddle::testing::pe_counts;
using heddle::testing::run_pes;

namespace {

int right_of(const team& team) { return (team.my_pe() + 1) % team.n_pes(); }
/// What the calling PE has at a symmetric address.
template <class T>
T mine(const team& team, const T* symmetric) {
  return team.g(symmetric, team.my_pe());
}
int left_of(const team& team) { return (team.my_pe() + team.n_pes() - 1) % team.n_pes(); }

/// Whole pages of the process's own.
struct pages {
  explicit pages(std::size_t count)
      : bytes(count * 4096),
        start(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    REQUIRE(start != MAP_FAILED);
  }
  ~pages() { ::munmap(start, bytes); }
  std::size_t bytes;
  void* start;
};

}  // namespace

TEST_CASE("put and get move any number of bytes from and to any address") {
  run_pes(pe_counts({3}).front(), [](runtime& self) {
    const auto world = self.world();
    constexpr std::size_t room = 70'000;
    symmetric_array<unsigned char> there(self, room);
    std::mt19937 random(static_cast<unsigned>(7 + self.my_pe()));
    const int target = right_of(world);
    for (const std::size_t n : {0, 1, 3, 7, 8, 15, 16, 17, 63, 64, 65, 1000, 4097, 65'537}) {
      const std::size_t at = random() % (room - n);
      std::vector<unsigned char> sent(n + 5), back(n + 9, 0xee);
      for (auto& value : sent) value = static_cast<unsigned char>(random());
      world.barrier();
      world.put(there.data() + at, sent.data() + 5, n, target);
      world.quiet();
      world.get(back.data() + 3, there.data() + at, n, target);
      CHECK(std::memcmp(back.data() + 3, sent.data() + 5, n) == 0);
      CHECK(back[2] == 0xee);
      CHECK(back[n + 3] == 0xee);
      world.put_nbi(there.data() + at, sent.data(), n, target);
      world.quiet();
      world.get_nbi(back.data(), there.data() + at, n, target);
      world.quiet();
      CHECK(std::memcmp(back.data(), sent.data(), n) == 0);
    }
    world.barrier();
  });
}

TEST_CASE("single elements, signals and their waits") {
  run_pes(pe_counts({3}).front(), [](runtime& self) {
    const auto world = self.world();
    symmetric_array<double> value(self, 2);
    symmetric_array<heddle::signal> ready(self, 2);
    const int right = right_of(world), left = left_of(world);
    world.p(value.data(), 0.5 + world.my_pe(), right);
    world.barrier();
    CHECK(mine(world, value.data()) == 0.5 + left);
    CHECK(world.g(value.data(), right) == 0.5 + world.my_pe());
    CHECK_FALSE(world.test(ready.data(), cmp::ne, 0));
    world.barrier();
    const double sent = 100 + world.my_pe();
    world.put_signal(value.data() + 1, &sent, 1, ready.data(), 7, signal_op::set, right);
    world.wait_until(ready.data(), cmp::eq, 7);
    CHECK(mine(world, value.data() + 1) == 100 + left);
    world.update_signal(ready.data() + 1, 3, signal_op::add, right);
    world.update_signal(ready.data() + 1, 4, signal_op::add, left);
    world.wait_until(ready.data() + 1, cmp::gt, 6);
    CHECK(world.test(ready.data() + 1, cmp::eq, 7));
    world.barrier();
  });
}

TEST_CASE("a fence orders puts before the words after it, and sync says that all have come") {
  for (const int n_pes : pe_counts({2, 3}))
    run_pes(n_pes, [](runtime& self) {
      const auto world = self.world();
      constexpr std::size_t n = 5000;
      constexpr std::uint64_t rounds = 50;
      symmetric_array<std::uint64_t> row(self, n), flag(self, 1), arrived(self, 1);
      std::vector<std::uint64_t> sent(n);
      for (std::uint64_t round = 1; round <= rounds; ++round) {
        sent.assign(n, round);
        world.put_nbi(row.data(), sent.data(), n, right_of(world));
        world.fence();
        world.p(flag.data(), round, right_of(world));
        world.wait_until(flag.data(), cmp::ge, round);
        CHECK(mine(world, row.data()) == round);
        CHECK(mine(world, row.data() + n - 1) == round);
        (void)world.atomic_fetch_add(arrived.data(), 1, 0);
        world.sync();
        if (world.my_pe() == 0)
          CHECK(mine(world, arrived.data()) == round * static_cast<std::uint64_t>(world.n_pes()));
        world.barrier();
      }
    });
}

TEST_CASE("a PE that has waited long, and sleeps, serves others and is woken") {
  run_pes(2, [](runtime& self) {
    const auto world = self.world();
    symmetric_array<std::uint64_t> counter(self, 1);
    symmetric_array<heddle::signal> ready(self, 1);
    world.barrier();
    if (world.my_pe() == 0) {
      for (std::uint64_t i = 0; i < 20; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        CHECK(world.atomic_fetch_add(counter.data(), std::uint64_t{1}, 1) == i);
      }
      world.update_signal(ready.data(), 1, signal_op::set, 1);
    } else {
      world.wait_until(ready.data(), cmp::eq, 1);
      CHECK(mine(world, counter.data()) == 20);
    }
    world.barrier();
  });
}

TEST_CASE("operations on a stream run in its order") {
  run_pes(2, [](runtime& self) {
    const auto world = self.world();
    const auto queue = self.create_stream();
    symmetric_array<int> box(self, 1);
    symmetric_array<heddle::signal> ready(self, 2);
    const int other = 1 - world.my_pe();
    int sent = 40 + world.my_pe(), fetched = 0;
    world.put_signal(box.data(), &sent, 1, ready.data(), 1, signal_op::set, other, queue);
    world.wait_until(ready.data(), cmp::eq, 1, queue);
    world.update_signal(ready.data() + 1, 5, signal_op::add, other, queue);
    world.wait_until(ready.data() + 1, cmp::eq, 5, queue);
    world.get(&fetched, box.data(), 1, other, queue);
    world.barrier(queue);
    world.put(box.data(), &fetched, 1, other, queue);
    world.barrier(queue);
    queue.synchronize();
    CHECK(fetched == 40 + world.my_pe());
    CHECK(mine(world, box.data()) == 40 + other);
  });
}

TEST_CASE_TEMPLATE("atomics are indivisible and return what was there", T, std::int32_t,
                   std::uint32_t, std::int64_t, std::uint64_t) {
  run_pes(4, [](runtime& self) {
    const auto world = self.world();
    symmetric_array<T> word(self, 6);
    std::vector<char> seen(400);
    for (int i = 0; i < 100; ++i)
      ++seen[static_cast<std::size_t>(world.atomic_fetch_add(word.data(), 1, 0))];
    std::vector<float> counts(seen.begin(), seen.end());
    symmetric_array<float> counts_there(self, 400);
    world.put(counts_there.data(), counts.data(), 400, world.my_pe());
    world.all_reduce(counts_there.data(), counts_there.data(), 400, op::sum);
    world.get(counts.data(), counts_there.data(), 400, world.my_pe());
    for (const float count : counts) CHECK(count == 1.0f);
    CHECK(world.atomic_fetch(word.data(), 0) == 400);

    if (world.my_pe() == 3) {
      world.atomic_set(word.data() + 1, static_cast<T>(-6), 2);
      CHECK(world.atomic_fetch_and(word.data() + 1, 0xff, 2) == static_cast<T>(-6));
      CHECK(world.atomic_fetch_or(word.data() + 1, 1, 2) == 0xfa);
      CHECK(world.atomic_fetch_xor(word.data() + 1, 0xf0, 2) == 0xfb);
      CHECK(world.atomic_swap(word.data() + 1, 77, 2) == 0x0b);
      CHECK(world.atomic_compare_swap(word.data() + 1, 76, 1, 2) == 77);
      CHECK(world.atomic_compare_swap(word.data() + 1, 77, 1, 2) == 77);
      CHECK(world.atomic_fetch(word.data() + 1, 2) == 1);
    }
    world.barrier();
    CHECK(mine(world, word.data() + 1) == (world.my_pe() == 2 ? 1 : 0));
    world.barrier();
  });
}

TEST_CASE("the typed names of the C API do what the untyped do") {
  run_pes(2, [](runtime& self) {
    const auto team = self.world().handle();
    const int other = 1 - self.my_pe();
    symmetric_array<float> floats(self, 4);
    symmetric_array<long> longs(self, 2);
    symmetric_array<std::uint64_t> ready(self, 1);
    const float sent[3] = {1.0f + static_cast<float>(self.my_pe()), 2.0f, 3.0f};
    CHECK(heddle_float_put_signal(team, floats.data(), sent, 3, ready.data(), 1, HEDDLE_SIGNAL_SET,
                                  other) == HEDDLE_SUCCESS);
    self.world().wait_until(ready.data(), cmp::eq, 1);
    CHECK(mine(self.world(), floats.data()) == 1.0f + static_cast<float>(other));
    CHECK(mine(self.world(), floats.data() + 2) == 3.0f);
    CHECK(heddle_float_p(team, floats.data() + 3, 9.5f, other) == HEDDLE_SUCCESS);
    float fetched = 0;
    self.world().barrier();
    CHECK(heddle_float_g(team, &fetched, floats.data() + 3, other) == HEDDLE_SUCCESS);
    CHECK(fetched == 9.5f);
    CHECK(heddle_float_put(team, floats.data(), sent, SIZE_MAX / 2, other) ==
          HEDDLE_ERROR_INVALID_ARGUMENT);
    long old = -1;
    CHECK(heddle_long_atomic_fetch_add(team, &old, longs.data(), -5, self.my_pe()) ==
          HEDDLE_SUCCESS);
    CHECK(old == 0);
    CHECK(heddle_long_atomic_inc(team, longs.data(), self.my_pe()) == HEDDLE_SUCCESS);
    CHECK(heddle_long_atomic_compare_swap(team, &old, longs.data(), -4, 12, self.my_pe()) ==
          HEDDLE_SUCCESS);
    CHECK(old == -4);
    CHECK(heddle_long_atomic_fetch(team, &old, longs.data(), self.my_pe()) == HEDDLE_SUCCESS);
    CHECK(old == 12);
    self.world().barrier();
  });
}

TEST_CASE("realloc keeps the content, and counts that no size holds are errors") {
  run_pes(2, [](runtime& self) {
    auto* values = self.malloc<int>(10);
    std::vector<int> content(10);
    std::iota(content.begin(), content.end(), 100 * self.my_pe());
    self.world().put(values, content.data(), 10, self.my_pe());
    values = self.realloc(values, 100'000);
    CHECK(mine(self.world(), values + 9) == 100 * self.my_pe() + 9);
    CHECK(self.world().g(values + 9, 1 - self.my_pe()) == 100 * (1 - self.my_pe()) + 9);
    self.world().barrier();
    self.free(values);
    CHECK_THROWS_AS((void)self.malloc<int>(SIZE_MAX / 2), error);
    CHECK_THROWS_AS(self.world().put(values, values, SIZE_MAX / 3, 0), error);
    self.world().barrier();
  });
}

TEST_CASE("a registered buffer is symmetric in place, and the process's own again afterwards") {
  const pages buffers[2] = {pages(3), pages(3)};
  run_pes(2, [&](runtime& self) {
    const auto world = self.world();
    const int me = world.my_pe();
    auto* own = static_cast<int*>(buffers[me].start);
    const std::size_t n = buffers[me].bytes / sizeof(int);
    std::fill(own, own + n, 10 + me);
    {
      const registration<int> registered(self, own, n);
      CHECK(registered.data()[n - 1] == 10 + me);
      world.barrier();
      CHECK(world.g(own + 5, 1 - me) == 11 - me);
      world.barrier();
      world.p(own + 6, 1000 + me, 1 - me);
      world.all_reduce(own, own, 4, op::sum);
      world.barrier();
    }
    CHECK(own[0] == 21);
    CHECK(own[6] == 1000 + 1 - me);
    CHECK_THROWS_WITH_AS(registration<int>(self, own + 1, 1024), doctest::Contains("page size"),
                         error);
  });
}
