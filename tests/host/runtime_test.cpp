// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <heddle/device/launch.hpp>
#include <heddle/heddle.hpp>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "bootstrap/environment_variable.hpp"
#include "doctest/cut_short.hpp"
#include "doctest/run_pes.hpp"
#include "symmetric_heap/child_process.hpp"

using namespace heddle;
using heddle::testing::patient;
using heddle::testing::run_pes;

namespace {

struct ring_shift {
  template <block_group Block>
  HEDDLE_FN void operator()(Block block, team_ref team, int* row, size_t n,
                            heddle::signal* ready) const {
    const int right = (team.my_pe() + 1) % team.n_pes();
    team.put_signal(block, row + n, row, n, ready, 1, signal_op::add, right);
    team.wait_until(block, ready, cmp::ge, uint64_t{1});
  }
};

}  // namespace

TEST_CASE("PEs as threads allocate, put, signal, wait and reduce") {
  for (int n_pes : {1, 2, 5}) {
    CAPTURE(n_pes);
    run_pes(n_pes, [&](runtime& self) {
      const auto world = self.world();
      CHECK(world.n_pes() == n_pes);
      CHECK(self.my_pe() == world.my_pe());
      CHECK(self.device() == "host");
      constexpr std::size_t n = 1000;
      symmetric_array<int> row(self, 2 * n);
      symmetric_array<heddle::signal> ready(self, 1);
      std::iota(row.begin(), row.begin() + n, self.my_pe() * 10000);
      world.barrier();
      launch(self.default_stream(), 1, 1, ring_shift{}, world.ref(), row.data(), n, ready.data());
      const int left = (self.my_pe() + n_pes - 1) % n_pes;
      CHECK(row[n] == left * 10000);
      CHECK(row[2 * n - 1] == left * 10000 + static_cast<int>(n) - 1);

      symmetric_array<float> gradient(self, n);
      std::fill(gradient.begin(), gradient.end(), static_cast<float>(self.my_pe() + 1));
      world.all_reduce(gradient.data(), gradient.data(), n, op::sum);
      CHECK(gradient[0] == static_cast<float>(n_pes * (n_pes + 1) / 2));
      CHECK(gradient[n - 1] == gradient[0]);
      std::vector<double> own(333, self.my_pe()), most(333);
      world.all_reduce(own.data(), most.data(), own.size(), op::max);
      CHECK(most[332] == n_pes - 1);
    });
  }
}

TEST_CASE("there are as many contexts as HEDDLE_CONTEXTS says, and each carries" *
          doctest::test_suite("threads")) {
  const environment_variable apart("HEDDLE_P2P_DISABLE", "1");
  const environment_variable contexts("HEDDLE_CONTEXTS", "7");
  run_pes(2, [](runtime& self) {
    const team_ref world = self.world().ref();
    REQUIRE(world.n_contexts() == 7);
    const symmetric_array<int> words(self, 7);
    std::fill_n(words.data(), words.size(), -1);
    self.world().barrier();
    for (int i = 0; i < world.n_contexts(); ++i) {
      const auto context = world.context(i);
      context.p(words.data() + i, i, 1 - self.my_pe());
      context.quiet();
    }
    self.world().barrier();
    for (int i = 0; i < world.n_contexts(); ++i) CHECK(words.data()[i] == i);
  });
}

TEST_CASE("work on streams is ordered, and events order streams") {
  run_pes(3, [](runtime& self) {
    const auto world = self.world();
    const auto first = self.create_stream();
    const auto second = self.create_stream();
    auto done = self.create_event();
    symmetric_array<float> values(self, 100);
    for (int step = 0; step < 20; ++step) {
      launch(
          first, 2, 3,
          [](auto block, float* data) {
            if (block.block_rank() == 0 && block.rank() == 0)
              for (int i = 0; i < 100; ++i) data[i] = 1.0f;
          },
          values.data());
      world.all_reduce(values.data(), values.data(), 100, op::sum, first);
      done.record(first);
      done.block(second);
      world.all_reduce(values.data(), values.data(), 100, op::sum, second);
      done.record(second);
      done.block(first);
    }
    first.synchronize();
    second.synchronize();
    CHECK(values[99] == 9.0f);
  });
}

TEST_CASE("a stream tells the error of each team that it has had work of, once") {
  run_pes(2, [](runtime& self) {
    const auto world = self.world();
    const auto healthy = world.split_color(0, 0);
    const auto aborted = world.split_color(0, 0);
    const auto without_work = self.create_stream();
    const auto of_healthy = self.create_stream();
    const auto of_aborted = self.create_stream();
    const auto with_kernel = self.create_stream();
    std::vector<int> value{1};
    symmetric_array<int> row(self, 2);
    symmetric_array<heddle::signal> ready(self, 1);
    healthy.all_reduce(value.data(), value.data(), 1, op::sum, of_healthy);
    of_healthy.synchronize();
    aborted.all_reduce(value.data(), value.data(), 1, op::sum, of_aborted);
    of_aborted.synchronize();
    launch(with_kernel, 1, 1, ring_shift{}, healthy.ref(), row.data(), 1, ready.data());
    with_kernel.synchronize();
    world.barrier();
    if (self.my_pe() == 0) aborted.abort("by the user");
    world.barrier();

    CHECK_NOTHROW(without_work.synchronize());
    CHECK_NOTHROW(of_healthy.synchronize());
    CHECK_NOTHROW(self.default_stream().synchronize());
    CHECK_THROWS_WITH(of_aborted.synchronize(), doctest::Contains("by the user"));
    CHECK_NOTHROW(of_aborted.synchronize());
    // It might have used the team.
    CHECK_THROWS_WITH(with_kernel.synchronize(), doctest::Contains("by the user"));
    CHECK_NOTHROW(with_kernel.synchronize());
  });
}

TEST_CASE("a stream whose work has failed tells it once") {
  run_pes(2, [](runtime& self) {
    const auto world = self.world();
    const auto team = world.split_color(0, 0);
    const auto stream = self.create_stream();
    symmetric_array<heddle::signal> never(self, 1);
    if (self.my_pe() == 0) team.wait_until(never.data(), cmp::ge, 1, stream);
    world.barrier();
    if (self.my_pe() == 1) team.abort("by the user");
    if (self.my_pe() == 0) {
      CHECK_THROWS_WITH(stream.synchronize(), doctest::Contains("by the user"));
      CHECK_NOTHROW(stream.synchronize());
    }
  });
}

TEST_CASE("what kernels are given is as aligned on a stream as where it came from") {
  struct alignas(128) line {
    int words[32];
  };
  const runtime self;
  const auto queue = self.create_stream();
  int sums[8] = {};
  for (int& sum : sums)
    launch(
        queue, 1, 1,
        [](auto&, const line& given, int* to) {
          *to = given.words[0] + given.words[31];
          if (reinterpret_cast<std::uintptr_t>(&given) % alignof(line) != 0) *to = -1;
        },
        line{{1}}, &sum);
  queue.synchronize();
  for (const int sum : sums) CHECK(sum == 1);
}

TEST_CASE("device memory is filled, used by kernels and read back in stream order") {
  const runtime self;
  const auto queue = self.create_stream();
  constexpr std::size_t n = 1000;
  const device_array<float> numbers(self, n);
  std::vector<float> host(n);
  std::iota(host.begin(), host.end(), 0.0f);
  std::vector<float> back(n);
  queue.copy(numbers.data(), host.data(), n);
  launch(
      queue, 2, 4,
      [](auto block, float* data) {
        const auto threads = static_cast<std::size_t>(block.size() * block.num_blocks());
        for (auto i = static_cast<std::size_t>(block.rank() + block.size() * block.block_rank());
             i < n; i += threads)
          data[i] *= 2;
      },
      numbers.data());
  queue.copy(back.data(), numbers.data(), n);
  queue.synchronize();
  CHECK(back[999] == 1998.0f);
}

TEST_CASE("team places are used again, and are clean when they are") {
  run_pes(3, [](runtime& self) {
    const auto world = self.world();
    for (int round = 0; round < 100; ++round) {
      const auto pair = world.split_strided(round % 2, 1, 2);
      if (!pair) continue;
      std::vector<float> values(static_cast<std::size_t>(1 + round * 37), 1.0f);
      pair.all_reduce(values.data(), values.data(), values.size(), op::sum);
      CHECK(values.back() == 2.0f);
      pair.barrier();
    }
    std::vector<team> many;
    for (int i = 0; i < 62; ++i) many.push_back(world.split_strided(0, 1, 3));
    CHECK_THROWS_WITH_AS((void)world.split_strided(0, 1, 3), doctest::Contains("HEDDLE_MAX_TEAMS"),
                         error);
    world.barrier();
  });
}

TEST_CASE("the place of an aborted team is not used again before all members have left it") {
  run_pes(3, [](runtime& self) {
    const auto world = self.world();
    const auto outer = world.split_strided(0, 2, 2);
    for (int round = 0; round < 100; ++round) {
      auto all = std::make_unique<team>(world.split_strided(0, 1, 3));
      world.barrier();
      if (self.my_pe() == 0) all->abort("on purpose");
      if (outer) {
        while (heddle_team_status(all->handle()) == HEDDLE_SUCCESS) std::this_thread::yield();
        all.reset();
        const auto next = outer.split_strided(0, 1, 2);
        world.barrier();
        // PE 1 has aborted the team that it still has: no concern of this one.
        world.barrier();
        CHECK(heddle_team_status(next.handle()) == HEDDLE_SUCCESS);
        next.barrier();
      } else {
        world.barrier();
        all->abort("late");
        world.barrier();
      }
    }
    world.barrier();
  });
}

TEST_CASE(
    "an event that is recorded again on another stream still holds back who waits for the first") {
  const runtime self;
  const auto slow = self.create_stream();
  const auto idle = self.create_stream();
  const auto waiting = self.create_stream();
  auto point = self.create_event();
  std::atomic<int> done{0};
  std::atomic<int> seen{-1};
  launch(
      slow, 1, 1,
      [](auto&, std::atomic<int>* to) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        *to = 1;
      },
      &done);
  point.record(slow);
  point.block(waiting);
  point.record(idle);
  launch(
      waiting, 1, 1,
      [](auto&, std::atomic<int>* from, std::atomic<int>* to) { *to = from->load(); }, &done,
      &seen);
  waiting.synchronize();
  CHECK(seen == 1);
}

TEST_CASE("owners that outlive their runtime do no harm") {
  runtime self;
  const auto queue = self.create_stream();
  auto point = self.create_event();
  const symmetric_array<float> numbers(self, 10);
  const auto world = self.world();
  float sum = 1;
  world.all_reduce(&sum, &sum, 1, op::sum);  // the last that this thread has found alive
  self.finalize();
  CHECK(heddle_stream_synchronize(self.handle(), queue.handle()) == HEDDLE_ERROR_INVALID_ARGUMENT);
  CHECK(heddle_all_reduce(world.handle(), &sum, &sum, 1, HEDDLE_FLOAT32, HEDDLE_SUM, nullptr) ==
        HEDDLE_ERROR_INVALID_USAGE);
  CHECK_THROWS_WITH_AS(point.record(queue), doctest::Contains("finalized"), error);
}

TEST_CASE("the child of a fork is not its parent's PE, though it destroys what that owns") {
  run_pes(2, [](runtime& self) {
    auto array = std::make_unique<symmetric_array<int>>(self, 8);
    const auto world = self.world();
    world.barrier();  // the last that this thread has found alive
    if (self.my_pe() == 0) {
      testing::child_process child([&] {
        if (heddle_barrier(world.handle()) != HEDDLE_ERROR_INVALID_USAGE) return 2;
        array.reset();
        const auto status = heddle_finalize(self.handle());
        const std::string said = heddle_last_error();
        return status == HEDDLE_ERROR_INVALID_USAGE &&
                       said.find("belongs to the process that forked") != std::string::npos
                   ? 0
                   : 1;
      });
      CHECK(child.wait() == 0);
    }
    (*array)[0] = self.my_pe();
    self.world().barrier();
    CHECK(self.world().g(array->data(), 1 - self.my_pe()) == 1 - self.my_pe());
  });
}

// Who comes late would find all there, and go on with a heap that is not the others'.
TEST_CASE("a heap call whose deadline passes ends the job" * doctest::test_suite("threads")) {
  const environment_variable timeout("HEDDLE_TIMEOUT", std::to_string(patient(0.5)));
  for (const bool frees : {false, true}) {
    CAPTURE(frees);
    run_pes(2, [&](runtime& self) {
      void* block = nullptr;
      void* other = nullptr;
      constexpr std::size_t grows = std::size_t{64} << 20;
      REQUIRE(heddle_malloc(self.handle(), 64, &block) == HEDDLE_SUCCESS);
      if (self.my_pe() == 1)
        while (heddle_team_status(self.world().handle()) == HEDDLE_SUCCESS)
          std::this_thread::yield();
      CHECK((frees ? heddle_free(self.handle(), block)
                   : heddle_malloc(self.handle(), grows, &other)) ==
            (self.my_pe() == 0 ? HEDDLE_ERROR_TIMEOUT : HEDDLE_ERROR_ABORTED));
      for (int i = 0; i < 2; ++i) CHECK(heddle_malloc(self.handle(), 64, &other) != HEDDLE_SUCCESS);
    });
  }
}

TEST_CASE("teams of many PEs that the network joins follow each other in one place" *
          doctest::test_suite("threads")) {
  constexpr int n_pes = 18;  // a barrier of more than 16 goes through others
  const environment_variable apart("HEDDLE_P2P_DISABLE", "1");
  const environment_variable teams("HEDDLE_MAX_TEAMS", "3");
  const environment_variable heap("HEDDLE_HEAP_SIZE", "64M");
  run_pes(n_pes, [](runtime& self) {
    const auto world = self.world();
    for (int round = 0; round < 20; ++round) {
      const auto team = world.split_color(0, self.my_pe());
      std::vector<float> values(2000, static_cast<float>(self.my_pe() + round));
      team.all_reduce(values.data(), values.data(), values.size(), op::sum);
      const auto sum = static_cast<float>(n_pes * (n_pes - 1) / 2 + n_pes * round);
      CHECK(values == std::vector<float>(values.size(), sum));
      team.broadcast(values.data(), values.data(), values.size(), round % n_pes);
    }
  });
}
