// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// Users' kernels and the library's on the device that HEDDLE_DEVICE chooses: this file is compiled
// by the host's compiler, for the host device, and by nvcc, for a GPU (./dev gpu). Content gets to
// the device and back by streams alone.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <heddle/device/launch.hpp>
#include <heddle/device_array.hpp>
#include <heddle/heddle.hpp>
#include <heddle/symmetric_array.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "device/preloaded_kernels.hpp"
#include "kernels/on_device.hpp"

using namespace heddle;
using namespace heddle::testing;

namespace {

/// Each PE passes its row to the right and adds what comes from the left, `steps` times.
struct pass_on {
  template <block_group Block>
  HEDDLE_FN void operator()(Block block, team_ref team, int* row, heddle::size_t n,
                            heddle::signal* ready, int steps) const {
    const int right = (team.my_pe() + 1) % team.n_pes();
    for (int step = 1; step <= steps; ++step) {
      int* inbox = row + static_cast<heddle::size_t>(step % 2 + 1) * n;
      team.put_signal(block, inbox, row, n, ready, 1, signal_op::add, right);
      team.wait_until(block, ready, cmp::ge, static_cast<uint64_t>(step));
      for (auto i = static_cast<heddle::size_t>(block.rank()); i < n;
           i += static_cast<heddle::size_t>(block.size()))
        row[i] = inbox[i] + 1;
      block.sync();
      if (team.barrier(block) != wait_status::ok) return;
    }
  }
};

struct never_launched {
  template <block_group Block>
  HEDDLE_FN void operator()(Block) const {}
};

/// More than one command carries to a remote PE.
struct wide_element {
  int words[700];
};

/// One thread's own variables, to the right and from the left.
struct pass_elements {
  template <block_group Block>
  HEDDLE_FN void operator()(Block block, team_ref team, wide_element* inbox, wide_element* mine,
                            int* wrong) const {
    if (block.rank() == 0) {
      const int left = (team.my_pe() + team.n_pes() - 1) % team.n_pes();
      wide_element own;
      for (int i = 0; i < 700; ++i) own.words[i] = 1000 * team.my_pe() + i;
      mine[0] = own;
      team.p(inbox, own, (team.my_pe() + 1) % team.n_pes());
      (void)team.barrier(thread_group{});
      const wide_element theirs = team.g(static_cast<const wide_element*>(mine), left);
      for (int i = 0; i < 700; ++i) {
        *wrong += inbox->words[i] != 1000 * left + i;
        *wrong += theirs.words[i] != 1000 * left + i;
      }
      (void)team.barrier(thread_group{});
    }
  }
};

/// Every thread of every block adds 1 to every PE's counter.
struct count_all {
  template <block_group Block>
  HEDDLE_FN void operator()(Block, team_ref team, uint64_t* counter) const {
    for (int pe = 0; pe < team.n_pes(); ++pe) team.atomic_add(counter, 1, pe);
  }
};

/// Values are converted to the type of what they are for.
struct pass_literals {
  template <block_group Block>
  HEDDLE_FN void operator()(Block block, team_ref team, float* real, int64_t* word) const {
    if (block.rank() == 0) {
      const int right = (team.my_pe() + 1) % team.n_pes();
      team.p(real, 1.5, right);
      team.atomic_set(word, 1, right);
    }
    team.wait_until(block, word, cmp::ge, 1);
    if (block.rank() == 0) team.atomic_compare_swap(word, 1, -2, team.my_pe());
  }
};

/// Store, barrier, look: the value of the round must be there on every PE, in each round.
struct barrier_rounds {
  template <block_group Block>
  HEDDLE_FN void operator()(Block block, team_ref team, int* words, int rounds, int* wrong) const {
    for (int round = 1; round <= rounds; ++round) {
      for (int pe = block.rank(); pe < team.n_pes(); pe += block.size())
        team.p(words + team.my_pe(), round, pe);
      if (team.barrier(block) != wait_status::ok) return;
      for (int pe = block.rank(); pe < team.n_pes(); pe += block.size())
        if (team.g(words + pe, team.my_pe()) != round) *wrong = round;
      if (team.barrier(block, 1) != wait_status::ok) return;
    }
  }
};

/// Puts of every alignment and length, by threads, warps and blocks.
struct skewed_puts {
  template <block_group Block>
  HEDDLE_FN void operator()(Block block, team_ref team, unsigned char* to,
                            const unsigned char* from, heddle::size_t stride, int lengths) const {
    const int right = (team.my_pe() + 1) % team.n_pes();
    for (int n = 0; n < lengths; ++n) {
      const auto bytes = static_cast<heddle::size_t>(n);
      const heddle::size_t skew = bytes % 17;
      unsigned char* row = to + bytes * stride;
      team.put(block, row + skew, from + bytes % 5, bytes, right);
    }
    (void)team.barrier(block);
  }
};

struct wait_for_nobody {
  template <block_group Block>
  HEDDLE_FN void operator()(Block block, team_ref team, heddle::signal* never) const {
    (void)team.wait_until(block, never, cmp::ge, 1);
  }
};

template <class T>
T value_of(int pe, std::size_t i) {
  return static_cast<T>((pe + 1) * static_cast<int>(i % 13 + 1));
}

/// Sums that are exact in every type, on both kinds of buffer.
template <class T>
void check_sum(const runtime& self, std::size_t count, bool symmetric) {
  const auto world = self.world();
  const auto queue = self.create_stream();
  const int n_pes = self.n_pes();
  std::vector<T> mine(count);
  for (std::size_t i = 0; i < count; ++i) mine[i] = value_of<T>(self.my_pe(), i);
  symmetric_array<T> in_heap(self, 2 * count);
  const device_array<T> own(self, 2 * count);
  T* in = symmetric ? in_heap.data() : own.data();
  write(queue, in, mine);
  world.barrier();
  world.all_reduce(in, in + count, count, op::sum, queue);
  const auto apart = read(queue, in + count, count);
  world.all_reduce(in, in, count, op::sum, queue);
  const auto in_place = read(queue, in, count);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const T sum = static_cast<T>(n_pes * (n_pes + 1) / 2 * static_cast<int>(i % 13 + 1));
    wrong += apart[i] != sum;
    wrong += in_place[i] != sum;
  }
  check(wrong == 0, "all_reduce of " + std::to_string(count) + " elements on " +
                        std::to_string(n_pes) + " PEs: " + std::to_string(wrong) + " wrong");
  world.barrier();
}

}  // namespace

TEST_CASE("kernels put, signal, wait and meet") {
  for (const int n_pes : pe_counts({1, 2, 4, 8})) {
    CAPTURE(n_pes);
    run_pes(n_pes, [&](runtime& self) {
      constexpr std::size_t n = 1000;
      constexpr int steps = 16;
      const auto world = self.world();
      const auto queue = self.create_stream();
      symmetric_array<int> row(self, 3 * n);
      symmetric_array<heddle::signal> ready(self, 1);
      std::vector<int> mine(n);
      std::iota(mine.begin(), mine.end(), self.my_pe() * 10'000);
      write(queue, row.data(), mine);
      world.barrier();
      launch(queue, 1, threads(), pass_on{}, world.ref(), row.data(), n, ready.data(), steps);
      const auto got = read(queue, row.data(), n);
      const int from = (self.my_pe() + n_pes - steps % n_pes) % n_pes;
      check(got.front() == from * 10'000 + steps, "the first element");
      check(got.back() == from * 10'000 + 999 + steps, "the last element");
      world.barrier();
    });
  }
}

TEST_CASE("a thread passes elements of any size out of its own variables") {
  for (const int n_pes : pe_counts({1, 2, 3})) {
    CAPTURE(n_pes);
    run_pes(n_pes, [&](runtime& self) {
      const auto world = self.world();
      const auto queue = self.create_stream();
      symmetric_array<wide_element> inbox(self, 1), mine(self, 1);
      const device_array<int> wrong(self, 1);
      write(queue, wrong.data(), std::vector<int>{0});
      world.barrier();
      launch(queue, 1, threads(), pass_elements{}, world.ref(), inbox.data(), mine.data(),
             wrong.data());
      check(read(queue, wrong.data(), 1)[0] == 0, "elements");
      world.barrier();
    });
  }
}

TEST_CASE("atomics of all threads of all PEs lose nothing") {
  for (const int n_pes : pe_counts({1, 3, 8})) {
    CAPTURE(n_pes);
    run_pes(n_pes, [&](runtime& self) {
      const auto world = self.world();
      const auto queue = self.create_stream();
      symmetric_array<std::uint64_t> counter(self, 1);
      launch(queue, 2, threads(), count_all{}, world.ref(), counter.data());
      queue.synchronize();
      world.barrier();
      check(read(queue, counter.data(), 1)[0] == static_cast<std::uint64_t>(2 * threads() * n_pes),
            "the counter");
      world.barrier();
    });
  }
}

TEST_CASE("values are converted to the type of what they are for") {
  run_pes(2, [](runtime& self) {
    const auto world = self.world();
    const auto queue = self.create_stream();
    const symmetric_array<float> real(self, 1);
    const symmetric_array<std::int64_t> word(self, 1);
    launch(queue, 1, threads(), pass_literals{}, world.ref(), real.data(), word.data());
    queue.synchronize();
    world.barrier();
    check(read(queue, real.data(), 1)[0] == 1.5f, "p of a double to a float");
    check(read(queue, word.data(), 1)[0] == -2, "atomics of ints on an int64_t");
  });
}

TEST_CASE("barriers are met again and again") {
  for (const auto& pes : up_to_eight(pe_counts({2, 5, 8}))) {
    CAPTURE(pes.n);
    const int rounds = pes.briefly ? 30 : 200;
    run_pes(pes.n, [&](runtime& self) {
      const auto world = self.world();
      const auto queue = self.create_stream();
      symmetric_array<int> words(self, static_cast<std::size_t>(pes.n));
      const device_array<int> wrong(self, 1);
      write(queue, wrong.data(), {0});
      world.barrier();
      launch(queue, 1, threads(), barrier_rounds{}, world.ref(), words.data(), rounds,
             wrong.data());
      check(read(queue, wrong.data(), 1)[0] == 0, "a word of an earlier round");
      world.barrier();
    });
  }
}

TEST_CASE("puts of every length and alignment write their bytes and no other") {
  run_pes(2, [](runtime& self) {
    constexpr int lengths = 200;
    constexpr std::size_t stride = 256;
    const auto world = self.world();
    const auto queue = self.create_stream();
    symmetric_array<unsigned char> to(self, lengths * stride);
    const device_array<unsigned char> from(self, stride);
    std::vector<unsigned char> source(stride);
    for (std::size_t i = 0; i < stride; ++i) source[i] = static_cast<unsigned char>(i % 250 + 1);
    write(queue, from.data(), source);
    world.barrier();
    launch(queue, 1, threads(), skewed_puts{}, world.ref(), to.data(), from.data(), stride,
           lengths);
    const auto got = read(queue, to.data(), lengths * stride);
    std::size_t wrong = 0;
    for (std::size_t n = 0; n < lengths; ++n)
      for (std::size_t i = 0; i < stride; ++i) {
        const std::size_t skew = n % 17;
        const bool inside = i >= skew && i < skew + n;
        wrong += got[n * stride + i] != (inside ? source[n % 5 + i - skew] : 0);
      }
    check(wrong == 0, std::to_string(wrong) + " wrong bytes");
    world.barrier();
  });
}

TEST_CASE("all_reduce is right by every algorithm and protocol") {
  for (const auto& way : std::vector<std::pair<const char*, const char*>>{{"", ""},
                                                                          {"one_shot", "ll"},
                                                                          {"one_shot", "ll128"},
                                                                          {"one_shot", "simple"},
                                                                          {"two_shot", "simple"},
                                                                          {"ring", "ll"},
                                                                          {"ring", "ll128"},
                                                                          {"ring", "simple"},
                                                                          {"tree", "ll"},
                                                                          {"tree", "ll128"},
                                                                          {"tree", "simple"}}) {
    const auto* algo = way.first;
    const auto* proto = way.second;
    ::setenv("HEDDLE_ALGO", algo, 1);
    ::setenv("HEDDLE_PROTO", proto, 1);
    for (const int n_pes : fewer_if_cut_short({1, 2, 4, 8})) {
      CAPTURE(algo);
      CAPTURE(proto);
      CAPTURE(n_pes);
      run_pes(n_pes, [&](runtime& self) {
        for (const std::size_t count :
             {std::size_t{1}, std::size_t{7}, std::size_t{1000}, less_if_cut_short(70'001)}) {
          check_sum<float>(self, count, true);
          check_sum<float>(self, count, false);
        }
        check_sum<double>(self, 333, true);
        check_sum<std::int32_t>(self, 333, false);
        check_sum<std::int64_t>(self, 334, true);
      });
    }
  }
  ::unsetenv("HEDDLE_ALGO");
  ::unsetenv("HEDDLE_PROTO");
}

TEST_CASE("all_reduces and reduce_scatters of many sizes follow each other, wherever buffers are") {
  constexpr std::size_t most = 300'001;
  const std::vector<std::size_t> counts{70'001, 65'536, most, 65'537, 3, 131'077, 131'072, 200'000};
  const std::size_t n_calls = counts.size();
  for (const int n_pes : pe_counts({2, 3}))
    run_pes(n_pes, [&](runtime& self) {
      const auto world = self.world();
      const auto queue = self.create_stream();
      symmetric_array<float> in_heap(self, n_calls * most);
      const device_array<float> own(self, n_calls * most);
      const symmetric_array<float> input(self, static_cast<std::size_t>(n_pes) * most);
      std::vector<float> mine(static_cast<std::size_t>(n_pes) * most);
      const auto scatters = [](std::size_t round, std::size_t call) {
        return (round + call) % 2 == 1;
      };
      for (std::size_t round = 0; round < 6; ++round) {
        // Other values each time: what an earlier round has left is not right any more.
        const auto factor = static_cast<float>(round + 1);
        for (std::size_t i = 0; i < mine.size(); ++i)
          mine[i] = factor * value_of<float>(self.my_pe(), i);
        write(queue, input.data(), mine);
        std::vector<float*> outputs;
        for (std::size_t call = 0; call < n_calls; ++call) {
          const bool is_own = (round + call + static_cast<std::size_t>(self.my_pe())) % 3 == 0;
          // Some lie differently from PE to PE.
          const std::size_t shift = call % 2 * static_cast<std::size_t>(self.my_pe()) * 100;
          outputs.push_back((is_own ? own.data() : in_heap.data()) +
                            std::min(call * most + shift, n_calls * most - counts[call]));
          if (scatters(round, call)) {
            world.reduce_scatter(input.data(), outputs.back(), counts[call], op::sum, queue);
            continue;
          }
          const bool in_place = (round + call) % 4 == 0;
          if (in_place) queue.copy(outputs.back(), input.data(), counts[call]);
          world.all_reduce(in_place ? outputs.back() : input.data(), outputs.back(), counts[call],
                           op::sum, queue);
        }
        std::size_t wrong = 0;
        for (std::size_t call = 0; call < n_calls; ++call) {
          const auto got = read(queue, outputs[call], counts[call]);
          const std::size_t first =
              scatters(round, call) ? static_cast<std::size_t>(self.my_pe()) * counts[call] : 0;
          for (std::size_t i = 0; i < got.size(); ++i)
            wrong += got[i] != factor * static_cast<float>(n_pes * (n_pes + 1) / 2 *
                                                           static_cast<int>((first + i) % 13 + 1));
        }
        check(wrong == 0, "round " + std::to_string(round) + " on " + std::to_string(n_pes) +
                              " PEs: " + std::to_string(wrong) + " wrong");
      }
      world.barrier();
    });
}

#if defined(__CUDACC__)
TEST_CASE("the library knows a kernel that nvcc compiled before it is launched") {
  const auto known = exec::preloaded_kernels();
  const auto here = detail::forms_of<detail::kernel_call<never_launched>>();
  CHECK(std::count_if(known.begin(), known.end(),
                      [&](const exec::kernel& each) { return each.on_cuda == here.on_cuda; }) == 1);
}
#endif

TEST_CASE("a kernel that waits for nobody ends at the deadline, with a record") {
  ::setenv("HEDDLE_TIMEOUT", std::to_string(patient(0.5)).c_str(), 1);
  run_pes(2, [](runtime& self) {
    const auto world = self.world();
    const auto queue = self.create_stream();
    symmetric_array<heddle::signal> never(self, 1);
    std::string told;
    try {
      launch(queue, 1, threads(), wait_for_nobody{}, world.ref(), never.data());
      queue.synchronize();
    } catch (const error& failure) {
      told = failure.what();
    }
    // Into the records of a PE that memory does not reach nobody looks.
    const bool mapped = self.ptr(never.data(), 1 - self.my_pe()) != nullptr;
    const char* expected = mapped ? "wait_until" : "passed the deadline";
    check(told.find("wait_until") != std::string::npos || told.find(expected) != std::string::npos,
          told);
  });
  ::unsetenv("HEDDLE_TIMEOUT");
}
