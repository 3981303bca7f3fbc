// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// The collectives beside AllReduce, on the device that HEDDLE_DEVICE chooses (see
// kernels_test.cpp).

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <heddle/device/backoff.hpp>
#include <heddle/device/launch.hpp>
#include <heddle/device_array.hpp>
#include <heddle/heddle.hpp>
#include <heddle/symmetric_array.hpp>
#include <random>
#include <string>
#include <vector>

#include "kernels/collective_caller.hpp"
#include "kernels/exchange_ways.hpp"
#include "kernels/on_device.hpp"

using namespace heddle;
using namespace heddle::testing;

TEST_CASE("every collective is right, in every way and any kind of memory") {
  for (const auto& way : std::vector<forced_exchange>{{"", ""},
                                                      {"one_shot", "ll"},
                                                      {"one_shot", "simple"},
                                                      {"direct", ""},
                                                      {"ring", ""},
                                                      {"hierarchical", ""},
                                                      {"two_shot", ""},
                                                      {"tree", "ll"}}) {
    const environment_variable algorithm("HEDDLE_ALGO", way.algorithm);
    const environment_variable protocol("HEDDLE_PROTO", way.protocol);
    for (const auto& pes : up_to_eight(fewer_if_cut_short({1, 2, 3, 8}))) {
      CAPTURE(way.algorithm);
      CAPTURE(way.protocol);
      CAPTURE(pes.n);
      run_pes(pes.n, [&](runtime& self) {
        const auto world = self.world();
        const std::size_t most = less_if_cut_short(pes.briefly ? 9'001 : 40'001);
        const auto counts = pes.briefly ? std::vector<std::size_t>{1, most}
                                        : std::vector<std::size_t>{0, 1, 9, 1025, most};
        const int domains = count_domains(self);
        for (const std::size_t n : counts) check_taken(way, world, domains, n);
        for (const bool symmetric : {true, false}) {
          if (pes.briefly && symmetric != (pes.n % 2 == 0)) continue;
          caller pe(self, world, most, symmetric);
          for (const std::size_t n : counts) all_of_them(pe, pes.n, n);
        }
      });
    }
  }
}

TEST_CASE("a team of hosts with unequal numbers of PEs has every collective in every way") {
  // Of four PEs on two hosts three; where there is one host they are a team as any other.
  for (const auto* algo : {"", "one_shot", "direct", "ring", "tree", "hierarchical", "two_shot"}) {
    CAPTURE(algo);
    const environment_variable algorithm("HEDDLE_ALGO", algo);
    for (const bool backwards : {false, true})
      run_pes(4, [&](runtime& self) {
        const auto world = self.world();
        const auto three = world.split_strided(backwards ? 3 : 0, backwards ? -1 : 1, 3);
        const bool is_member = backwards ? self.my_pe() > 0 : self.my_pe() < 3;
        const symmetric_array<int> word(self, 1);
        const auto members = backwards ? std::vector{3, 2, 1} : std::vector{0, 1, 2};
        const int domains = is_member ? count_domains(self, three, members, word.data()) : 0;
        for (const std::size_t n : {1, 700, 2049, 5000, 9001}) {
          if (!is_member) continue;
          check_taken({algo, ""}, three, domains, n);
          caller pe(self, three, n, false);
          all_of_them(pe, 3, n);
          for (const bool in_place : {false, true}) pe.all_reduce(n, in_place);
        }
        world.barrier();
      });
  }
}

TEST_CASE("roots change from call to call, and each PE goes on when it has its part") {
  for (const auto& pes : up_to_eight(fewer_if_cut_short({2, 3, 5})))
    run_pes(pes.n, [&](runtime& self) {
      const auto world = self.world();
      const std::size_t most = less_if_cut_short(9'500);  // more than a packet has
      caller pe(self, world, most, self.n_pes() % 2 == 0);
      std::mt19937 random(7);
      for (int call = 0; call < (pes.briefly ? 40 : 200); ++call) {
        const int root = static_cast<int>(random() % static_cast<unsigned>(pes.n));
        const std::size_t n = random() % (call % 3 == 0 ? most : 20);
        switch (random() % 6) {
          case 4:
            pe.reduce_scatter(n, call % 2 == 0);
            break;
          case 5:
            pe.reduce(n, root, call % 2 == 0);
            break;
          case 0:
            pe.broadcast(n, root, call % 2 == 0);
            break;
          case 1:
            pe.gather(n, root, call % 2 == 0);
            break;
          case 2:
            pe.scatter(n, root, call % 2 == 0);
            break;
          default:
            pe.all_to_all(n);
        }
      }
    });
}

namespace {

/// Calls with pieces of any size, the last with none at all.
void exchange_pieces(caller& pe, int n_pes, int calls) {
  std::mt19937 random(3);
  const auto some = [&] {
    const auto kind = random() % 4;
    return kind == 0 ? 0 : kind == 1 ? random() % 20'000 : random() % 50;
  };
  for (int call = 0; call < calls; ++call) {
    lengths counts;
    for (int i = 0; i < n_pes; ++i) counts.push_back(some());
    pe.all_gather_v(counts);
    pe.reduce_scatter_v(counts, call % 2 == 0);
    std::vector<lengths> table;
    for (int i = 0; i < n_pes; ++i) {
      table.emplace_back();
      for (int j = 0; j < n_pes; ++j) table.back().push_back(some());
    }
    pe.all_to_all_v(table);
  }
  pe.all_gather_v(lengths(static_cast<std::size_t>(n_pes), 0));
  pe.reduce_scatter_v(lengths(static_cast<std::size_t>(n_pes), 0), false);
}

constexpr std::size_t room_for_pieces = 20'100;

}  // namespace

TEST_CASE("pieces of any size, some of them empty") {
  for (const auto& pes : up_to_eight(fewer_if_cut_short({1, 2, 5})))
    run_pes(pes.n, [&](runtime& self) {
      const auto world = self.world();
      for (const bool symmetric : {true, false}) {
        caller pe(self, world, room_for_pieces, symmetric);
        exchange_pieces(pe, pes.n, pes.briefly ? 4 : 30);
      }
    });
}

TEST_CASE("pieces of any size go by words, by slots and directly, as they are told to") {
  in_ways_of_pieces([](runtime& self, const forced_exchange& way) {
    const auto world = self.world();
    const int domains = count_domains(self);
    for (const auto what : {HEDDLE_COLLECTIVE_ALL_GATHER, HEDDLE_COLLECTIVE_ALL_TO_ALL})
      check_taken(way, world, domains, what, room_for_pieces);
    for (const bool symmetric : {true, false}) {
      caller pe(self, world, room_for_pieces, symmetric);
      exchange_pieces(pe, self.n_pes(), is_cut_short() ? 4 : 15);
    }
  });
}

TEST_CASE("teams of more than 64 PEs have every collective") {
  if (on_gpu()) return;  // not of so many PEs
  // Those of 128, a power of two, by memory alone: by the network they take twice as long as all
  // the other cases.
  const bool has_network =
      is_asked_for("HEDDLE_P2P_DISABLE") || is_asked_for("HEDDLE_PES_PER_HOST");
  for (const int n_pes : is_cut_short() ? std::vector{66}
                         : has_network  ? std::vector{65}
                                        : std::vector{65, 128}) {
    const std::size_t most = n_pes == 65 ? 9001 : 100;  // 9001 are more than a slot
    CAPTURE(n_pes);
    run_many_pes(n_pes, [&](runtime& self) {
      const auto world = self.world();
      caller pe(self, world, most, has_network || n_pes % 2 == 0);
      for (const std::size_t n : {std::size_t{0}, std::size_t{1}, most}) all_of_them(pe, n_pes, n);
      // What fills one slot with all blocks, and what fits in one of a few.
      for (const std::size_t n : {std::min(8192 / static_cast<std::size_t>(n_pes), most), most / 3})
        for (const int root : {0, 5, n_pes - 1}) {
          pe.gather(n, root, root == 5);
          pe.scatter(n, root, root == 5);
        }
      lengths counts;
      for (int i = 0; i < n_pes; ++i) counts.push_back(i % 3 == 0 ? 0 : 7 * (i % 5));
      pe.all_gather_v(counts);
      pe.reduce_scatter_v(counts, false);
      std::vector<lengths> table(counts.size(), lengths(counts.size()));
      for (std::size_t from = 0; from < table.size(); ++from)
        for (std::size_t to = 0; to < table.size(); ++to)
          table[from][to] = (from + 3 * to) % 4 == 0 ? 0 : (5 * from + to) % 37;
      pe.all_to_all_v(table);
    });
  }
}

namespace {

/// A sum, and that sum times a factor, from the host and from memory of the device, as C++ programs
/// make them; reductions_test has them in every type and way.
template <class T>
void check_scaled_sums(const runtime& self, std::size_t n, const char* type) {
  using factor = typename heddle::scaled_sum<T>::factor;
  const auto world = self.world();
  const auto queue = self.create_stream();
  const int n_pes = self.n_pes();
  const auto element = [](int value) {
    if constexpr (small_float<T>) {
      return from_float<T>(static_cast<float>(value));
    } else {
      return static_cast<T>(value);
    }
  };
  const device_array<T> memory(self, (2 + static_cast<std::size_t>(n_pes)) * n + 1);
  const device_array<factor> late(self, 1);
  T* in = memory.data();
  T* out = in + static_cast<std::size_t>(n_pes) * n;
  std::vector<T> mine(static_cast<std::size_t>(n_pes) * n);
  for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = element((self.my_pe() + 1) % 2);
  write(queue, in, mine);
  const int ones = (n_pes + 1) / 2;
  const heddle::scaled_sum<T> twice(world, factor{2});
  const auto by_device = heddle::scaled_sum<T>::by_device(world, late.data());
  const auto expect = [&](const T* from, int value, const std::string& what) {
    const auto got = read(queue, from, n);
    const T right = element(value);
    const auto same = [&](const T& each) { return std::memcmp(&each, &right, sizeof(T)) == 0; };
    check(std::all_of(got.begin(), got.end(), same),
          what + " of " + std::to_string(n) + " " + type + " on " + std::to_string(n_pes) + " PEs");
  };
  world.all_reduce(in, out, n, twice, queue);
  expect(out, 2 * ones, "scaled all_reduce");
  world.reduce_scatter(in, out, n, twice, queue);
  expect(out, 2 * ones, "scaled reduce_scatter");
  for (const int value : {3, 1}) {
    write(queue, late.data(), std::vector<factor>{static_cast<factor>(value)});
    world.all_reduce(in, out, n, by_device, queue);
    expect(out, value * ones, "all_reduce scaled on the device");
  }
  world.reduce(in, out, n, by_device, n_pes - 1, queue);
  if (self.my_pe() == n_pes - 1) expect(out, ones, "scaled reduce");
  world.all_reduce(in, out, n, op::sum, queue);
  expect(out, ones, "all_reduce after scaled ones");
}

/// The sum of two PEs is more than float16 holds, half of it is not.
void check_wide_sum(const runtime& self, std::size_t n) {
  const auto queue = self.create_stream();
  const device_array<f16> memory(self, n);
  write(queue, memory.data(), std::vector<f16>(n, from_float<f16>(40'000.0f)));
  const heddle::scaled_sum<f16> half(self.world(), 0.5f);
  self.world().all_reduce(memory.data(), memory.data(), n, half, queue);
  const auto got = read(queue, memory.data(), n);
  check(std::all_of(got.begin(), got.end(), [](f16 x) { return to_float(x) == 40'000.0f; }),
        "a float16 sum of 80000, halved");
}

/// Until the others have given up.
struct wait_for_abort {
  template <block_group Block>
  HEDDLE_FN void operator()(Block block, team_ref team) const {
    while (block.rank() == 0 && !team.aborted()) pause_processor();
    block.sync();
  }
};

/// 2048 + 1 + 1 + ... in float16, whose neighbours there are two apart.
void check_rounded_once(const runtime& self, std::size_t n) {
  const auto world = self.world();
  const auto queue = self.create_stream();
  const auto n_pes = static_cast<std::size_t>(self.n_pes());
  const device_array<f16> memory(self, (n_pes + 1) * n);
  f16* in = memory.data();
  f16* out = in + n_pes * n;
  write(queue, in, std::vector<f16>(n_pes * n, from_float<f16>(self.my_pe() == 0 ? 2048 : 1)));
  const auto expect = [&](const char* what) {
    const float sum = to_float(from_float<f16>(2047 + static_cast<float>(n_pes)));
    const auto got = read(queue, out, n);
    check(std::all_of(got.begin(), got.end(), [&](f16 x) { return to_float(x) == sum; }),
          std::string(what) + " of " + std::to_string(n) + " float16 was rounded more than once");
  };
  world.all_reduce(in, out, n, op::sum, queue);
  expect("all_reduce");
  world.reduce_scatter(in, out, n, op::sum, queue);
  expect("reduce_scatter");
  const int root = world.n_pes() - 1;
  world.reduce(in, out, n, op::sum, root, queue);
  if (self.my_pe() == root) expect("reduce");
  queue.synchronize();
}

}  // namespace

TEST_CASE("small floats are rounded once, whichever way they go, where that is asked for") {
  ::setenv("HEDDLE_ACCUMULATE_F32", "1", 1);
  for (const auto* algo : {"", "ring", "tree", "one_shot", "two_shot"}) {
    ::setenv("HEDDLE_ALGO", algo, 1);
    for (const int n_pes : fewer_if_cut_short({2, 4, 7}))
      run_pes(n_pes, [&](runtime& self) {
        for (const std::size_t n : {1, 1001, 70'001}) check_rounded_once(self, n);
      });
  }
  ::unsetenv("HEDDLE_ALGO");
  ::unsetenv("HEDDLE_ACCUMULATE_F32");
}

TEST_CASE("an infinity that another PE takes away gives all PEs the same, in every protocol") {
  // A result is the largest number at most, but what is passed on is what it was.
  for (const auto* proto : {"ll", "ll128", "simple"}) {
    CAPTURE(proto);
    ::setenv("HEDDLE_PROTO", proto, 1);
    for (const auto* algo : {"one_shot", "ring"}) {
      ::setenv("HEDDLE_ALGO", algo, 1);
      for (const int job : {2, 3})
        run_pes(job, [](runtime& self) {
          const auto world = self.world();
          const auto n_pes = static_cast<std::size_t>(world.n_pes());
          constexpr std::uint8_t highest = 0x7b, bits[] = {0x7c, 0xfb, 0};  // infinity, lowest, 0
          const std::vector<std::uint8_t> mine(33, bits[std::min(self.my_pe(), 2)]);
          device_array<f8_e5m2> values(self, mine.size());
          device_array<std::uint8_t> all(self, n_pes * mine.size());
          auto* bytes = reinterpret_cast<std::uint8_t*>(values.data());
          self.default_stream().copy(bytes, mine.data(), mine.size());
          world.all_reduce(values.data(), values.data(), mine.size(), op::sum);
          world.all_gather(bytes, all.data(), mine.size());
          const auto found = read(self.default_stream(), all.data(), n_pes * mine.size());
          if (n_pes == 2) check(found[0] == highest, "what was passed on was narrowed before");
          check(found == std::vector<std::uint8_t>(found.size(), found[0]),
                "other bits on some PE");
        });
    }
  }
  ::unsetenv("HEDDLE_PROTO");
  ::unsetenv("HEDDLE_ALGO");
}

TEST_CASE("sums are scaled by factors of the host and of the device, in every algorithm") {
  for (const auto* algo : {"", "ring", "tree", "two_shot"}) {
    ::setenv("HEDDLE_ALGO", algo, 1);
    for (const int n_pes : fewer_if_cut_short({1, 2, 3}))
      run_pes(n_pes, [&](runtime& self) {
        for (const std::size_t n : {3, 5000}) {
          if (n_pes == 2) check_wide_sum(self, n);
          // Whose factors are of the type itself, and of another.
          check_scaled_sums<std::uint64_t>(self, n, "uint64");
          check_scaled_sums<f16>(self, n, "float16");
        }
      });
  }
  ::unsetenv("HEDDLE_ALGO");
}

TEST_CASE("teams that share PEs, and both kinds of collectives, do not disturb each other") {
  run_pes(4, [](runtime& self) {
    const auto world = self.world();
    const auto pair = world.split_color(self.my_pe() / 2, 0);
    caller all(self, world, 2000, true);
    caller two(self, pair, 2000, true);
    const auto queue = self.create_stream();
    symmetric_array<float> sum(self, 1500);
    for (int call = 0; call < 20; ++call) {
      const std::size_t n = call % 2 == 0 ? 3 : 1500;
      all_of_them(two, 2, n);
      all_of_them(all, 4, n);
      write(queue, sum.data(), std::vector<float>(n, static_cast<float>(self.my_pe())));
      world.all_reduce(sum.data(), sum.data(), n, op::sum, queue);
      check(read(queue, sum.data(), n) == std::vector<float>(n, 6.0f), "all_reduce in between");
    }
  });
}

TEST_CASE("who comes after the others have given up writes nothing into their memory") {
  ::setenv("HEDDLE_TIMEOUT", std::to_string(patient(0.5)).c_str(), 1);
  constexpr std::size_t n = 200'000;
  run_pes(2, [&](runtime& self) {
    const auto world = self.world();
    const bool is_late = self.my_pe() == 1;
    const auto queue = self.create_stream();
    symmetric_array<int> memory(self, 2 * n);
    int* output = memory.data() + n;
    // So that proxies know each other's memory.
    world.all_reduce(memory.data(), output, n, op::sum, queue);
    write(queue, output, std::vector<int>(n, 77));
    world.barrier();
    {
      const auto pair = world.split_color(0, 0);
      // Of several blocks one may still be waiting, rightly, when the first has given up.
      const auto one_block = pair.limit_channels(1);
      try {
        if (is_late) launch(queue, 1, threads(), wait_for_abort{}, pair.ref());
        pair.all_reduce(memory.data(), output, n, op::sum, queue);
        queue.synchronize();
        check(false, "one of two PEs does not reduce alone");
      } catch (const error&) {
      }
    }
    world.barrier();
    const auto got = read(queue, output, n);
    check(is_late || std::count(got.begin(), got.end(), 77) == n, "written into by who came late");
  });
  ::unsetenv("HEDDLE_TIMEOUT");
}
