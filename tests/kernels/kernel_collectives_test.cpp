// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// The collectives that kernels call, on the device that HEDDLE_DEVICE chooses (see
// kernels_test.cpp): from every block of a grid, and from one block alone.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <heddle/device/collectives.hpp>
#include <heddle/device/launch.hpp>
#include <heddle/device_array.hpp>
#include <heddle/heddle.hpp>
#include <heddle/reduce_by.hpp>
#include <heddle/symmetric_array.hpp>
#include <string>
#include <vector>

#include "kernels/on_device.hpp"

using namespace heddle;
using namespace heddle::testing;

namespace {

enum class which : int {
  all_reduce,
  all_reduce_in_place,
  reduce_scatter,
  reduce,
  broadcast,
  all_gather,
  all_to_all,
  gather,
  scatter
};
constexpr const char* names[] = {"all_reduce", "all_reduce in place", "reduce_scatter", "reduce",
                                 "broadcast",  "all_gather",          "all_to_all",     "gather",
                                 "scatter"};

/// One collective, from all blocks or from the last one.
struct call_one {
  template <block_group Block>
  HEDDLE_FN void operator()(Block block, which what, bool alone, team_ref team, int* input,
                            int* output, heddle::size_t n, int root) const {
    if (!alone)
      run(block, what, team, input, output, n, root);
    else if (block.block_rank() == block.num_blocks() - 1)
      run(one_block(block), what, team, input, output, n, root);
  }

 private:
  template <block_group Block>
  HEDDLE_FN static void run(Block block, which what, const team_ref& team, int* input, int* output,
                            heddle::size_t n, int root) {
    switch (what) {
      case which::all_reduce:
        return all_reduce(block, team, input, output, n);
      case which::all_reduce_in_place:
        return all_reduce(block, team, input, input, n);
      case which::reduce_scatter:
        return reduce_scatter(block, team, input, output, n);
      case which::reduce:
        return reduce(block, team, input, output, n, root);
      case which::broadcast:
        return broadcast(block, team, input, output, n, root);
      case which::all_gather:
        return all_gather(block, team, input, output, n);
      case which::all_to_all:
        return all_to_all(block, team, input, output, n);
      case which::gather:
        return gather(block, team, input, output, n, root);
      case which::scatter:
        return scatter(block, team, input, output, n, root);
    }
  }
};

/// Element i of a PE's input: of each call another, so that what one has left is nothing for the
/// next.
int value_of(int call, int pe, std::size_t i) {
  return call % 1009 * 31 + pe * 10'007 + static_cast<int>(i % 9973);
}

/// What `me` has in its output, or -1 where nothing may be written.
int expected_of(int call, which what, int me, int n_pes, std::size_t n, int root, std::size_t i) {
  const auto pe = static_cast<int>(i / n);
  const std::size_t at = i % n;
  const auto sum_at = [&](std::size_t place) {
    int sum = 0;
    for (int other = 0; other < n_pes; ++other) sum += value_of(call, other, place);
    return sum;
  };
  const std::size_t mine = static_cast<std::size_t>(me) * n + at;
  const bool is_root = me == root;
  switch (what) {
    case which::all_reduce:
      return pe == 0 ? sum_at(at) : -1;
    case which::all_reduce_in_place:
      return -1;
    case which::reduce_scatter:
      return pe == 0 ? sum_at(mine) : -1;
    case which::reduce:
      return pe == 0 && is_root ? sum_at(at) : -1;
    case which::broadcast:
      return pe == 0 ? value_of(call, root, at) : -1;
    case which::all_gather:
      return value_of(call, pe, at);
    case which::all_to_all:
      return value_of(call, pe, mine);
    case which::gather:
      return is_root ? value_of(call, pe, at) : -1;
    case which::scatter:
      return pe == 0 ? value_of(call, root, mine) : -1;
  }
  return -1;
}

/// One PE's buffers, in the heap or its own, and its calls.
class caller {
 public:
  caller(const runtime& self, const team& team, std::size_t most, bool symmetric)
      : team_(team),
        me_(team.my_pe()),
        n_pes_(team.n_pes()),
        queue_(self.create_stream()),
        heap_(self, symmetric ? 2 * most * pieces() : 0),
        own_(self, symmetric ? 0 : 2 * most * pieces()),
        input_(symmetric ? heap_.data() : own_.data()),
        output_(input_ + most * pieces()) {}

  void call(which what, std::size_t n, int blocks, bool alone, int block_threads = threads()) {
    ++calls_;
    const int root = static_cast<int>((n + static_cast<std::size_t>(blocks)) % pieces());
    const std::size_t all = std::max<std::size_t>(n * pieces(), 1);
    std::vector<int> input(all);
    for (std::size_t i = 0; i < all; ++i) input[i] = value_of(calls_, me_, i);
    write(queue_, input_, input);
    write(queue_, output_, std::vector<int>(all, -1));
    launch(queue_, blocks, block_threads, call_one{}, what, alone, team_.ref(), input_, output_, n,
           root);
    const bool in_place = what == which::all_reduce_in_place;
    const auto got = read(queue_, in_place ? input_ : output_, all);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < n * pieces(); ++i) {
      const int right = !in_place ? expected_of(calls_, what, me_, n_pes_, n, root, i)
                        : i < n   ? expected_of(calls_, which::all_reduce, me_, n_pes_, n, root, i)
                                  : input[i];
      wrong += got[i] != right;
    }
    check(wrong == 0, std::string(names[static_cast<int>(what)]) + " of " + std::to_string(n) +
                          " elements, PE " + std::to_string(me_) + " of " + std::to_string(n_pes_) +
                          ", " + std::to_string(blocks) +
                          (alone ? " blocks, one calls: " : " blocks: ") + std::to_string(wrong) +
                          " wrong");
  }

 private:
  [[nodiscard]] std::size_t pieces() const { return static_cast<std::size_t>(n_pes_); }

  const team& team_;
  int me_;
  int n_pes_;
  stream queue_;
  symmetric_array<int> heap_;
  device_array<int> own_;
  int* input_;
  int* output_;
  int calls_ = 0;
};

struct largest_magnitude {
  template <class A>
  HEDDLE_FN A combine(A a, A b) const {
    return b * b > a * a ? b : a;
  }
};

/// heddle's own reductions and a user's, of signed integers and of 16-bit floating point.
struct reductions {
  template <block_group Block>
  HEDDLE_FN void operator()(Block block, team_ref team, const int* in, const bf16* in16, int* out,
                            bf16* out16, heddle::size_t n) const {
    all_reduce(block, team, in, out, n, reduce_min<int>());
    all_reduce(block, team, in, out + n, n, reduce_max<int>());
    all_reduce(block, team, in, out + 2 * n, n, reduce_avg<int>(team.n_pes()));
    all_reduce(block, team, in, out + 3 * n, n, reduce_prod());
    all_reduce(block, team, in, out + 4 * n, n, reduce_scaled_sum<int>(-3));
    all_reduce(block, team, in, out + 5 * n, n, largest_magnitude());
    all_reduce(block, team, in16, out16, n, reduce_max<bf16>());
    all_reduce(block, team, in16, out16 + n, n, reduce_scaled_sum<bf16>(0.5f));
  }
};

struct small_sums {
  template <block_group Block>
  HEDDLE_FN void operator()(Block block, team_ref team, const f16* in, f16* out,
                            heddle::size_t n) const {
    all_reduce(block, team, in, out, n);
    reduce_scatter(block, team, in, out + n, n);
    reduce(block, team, in, out + 2 * n, n, 1);
  }
};

/// Collectives and barriers by turns in one context, which is busy with what the last PE puts, and
/// in another: `wrong` counts what is not of its round.
struct by_turns {
  template <block_group Block>
  HEDDLE_FN void operator()(Block block, team_ref team, byte* to, const byte* from,
                            heddle::size_t bytes, int* value, int* got, int rounds,
                            int* wrong) const {
    const int last = team.n_pes() - 1;
    for (int round = 1; round <= rounds; ++round) {
      const auto in = team.context(round % 2);
      if (block.rank() == 0) *value = round;
      block.sync();
      if (round % 2 == 1 && team.my_pe() == last) in.put_nbi(block, to, from, bytes, 0);
      broadcast(block, in, value, got, heddle::size_t{1}, 0);
      if (block.rank() == 0 && *got != round) ++*wrong;
      if (in.sync(block) != wait_status::ok) return;
    }
    team.context(1).quiet();
  }
};

}  // namespace

TEST_CASE("kernels call every collective, at the scope of a grid and of a block") {
  for (const int n_pes : fewer_if_cut_short({1, 2, 4})) {
    CAPTURE(n_pes);
    run_pes(n_pes, [&](runtime& self) {
      const auto world = self.world();
      for (const bool symmetric : {true, false}) {
        caller pe(self, world, 70'001, symmetric);
        for (const std::size_t n : {0, 1, 7, 300, 5000, 70'001})
          for (int what = 0; what <= static_cast<int>(which::scatter); ++what) {
            pe.call(static_cast<which>(what), n, 1, false);
            pe.call(static_cast<which>(what), n, 3, false);
            pe.call(static_cast<which>(what), n, 2, true);
          }
        // More blocks than there are channels: the others have nothing to do.
        if (!on_gpu()) pe.call(which::all_reduce, 5000, 20, false);
      }
    });
  }
}

TEST_CASE("kernels call every collective in a team of hosts with unequal numbers of PEs") {
  // Of four PEs on two hosts three; where there is one host they are a team as any other.
  for (const bool backwards : {false, true})
    run_pes(4, [&](runtime& self) {
      const auto world = self.world();
      const auto three = world.split_strided(backwards ? 3 : 0, backwards ? -1 : 1, 3);
      const bool is_member = backwards ? self.my_pe() > 0 : self.my_pe() < 3;
      if (is_member) {
        caller pe(self, three, 9001, false);
        for (const std::size_t n : {1, 700, 2049, 9001})
          for (int what = 0; what <= static_cast<int>(which::scatter); ++what)
            for (const int blocks : {1, 3}) pe.call(static_cast<which>(what), n, blocks, false);
      }
      world.barrier();
    });
}

TEST_CASE("kernels choose the reduction, one of their own too") {
  for (const int n_pes : fewer_if_cut_short({1, 3}))
    run_pes(n_pes, [&](runtime& self) {
      const auto world = self.world();
      const auto queue = self.create_stream();
      for (const std::size_t n : {5, 3000}) {
        const device_array<int> memory(self, 7 * n);
        const device_array<bf16> memory16(self, 3 * n);
        std::vector<int> mine(n);
        std::vector<bf16> mine16(n);
        const auto value = [](int pe, std::size_t i) {
          return (pe % 2 == 0 ? 1 : -1) * (static_cast<int>(i % 5) + pe + 1);
        };
        for (std::size_t i = 0; i < n; ++i) {
          mine[i] = value(self.my_pe(), i);
          mine16[i] = from_float<bf16>(static_cast<float>(mine[i]));
        }
        write(queue, memory.data(), mine);
        write(queue, memory16.data(), mine16);
        launch(queue, 2, threads(), reductions{}, world.ref(), memory.data(), memory16.data(),
               memory.data() + n, memory16.data() + n, n);
        const auto got = read(queue, memory.data() + n, 6 * n);
        const auto got16 = read(queue, memory16.data() + n, 2 * n);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < n; ++i) {
          int sum = 0;
          int product = 1;
          int most = value(0, i);
          int least = most;
          int magnitude = most;
          for (int pe = 0; pe < n_pes; ++pe) {
            const int v = value(pe, i);
            sum += v;
            product *= v;
            most = std::max(most, v);
            least = std::min(least, v);
            if (v * v > magnitude * magnitude) magnitude = v;
          }
          wrong += got[i] != least;
          wrong += got[n + i] != most;
          wrong += got[2 * n + i] != sum / n_pes;
          wrong += got[3 * n + i] != product;
          wrong += got[4 * n + i] != -3 * sum;
          wrong += got[5 * n + i] != magnitude;
          wrong += to_float(got16[i]) != static_cast<float>(most);
          wrong += to_float(got16[n + i]) != 0.5f * static_cast<float>(sum);
        }
        check(wrong == 0, std::to_string(wrong) + " wrong of " + std::to_string(n) + " on " +
                              std::to_string(n_pes) + " PEs");
      }
    });
}

TEST_CASE("kernels call every collective in teams of more than 64 PEs") {
  // Not of so many PEs; and under sanitizers their blocks' threads take minutes.
  if (on_gpu() || is_cut_short()) return;
  run_many_pes(66, [&](runtime& self) {
    const auto world = self.world();
    // 9000 are more than a slot of a hop.
    const std::size_t most = 9000;
    {
      caller pe(self, world, most, true);
      for (const std::size_t n : {std::size_t{1}, std::size_t{257}, most})
        for (int what = 0; what <= static_cast<int>(which::scatter); ++what)
          pe.call(static_cast<which>(what), n, n == 257 ? 2 : 1, false, 1);
    }
    // More slots than a hop has.
    const auto queue = self.create_stream();
    const std::size_t many = 80'000;
    const device_array<int> memory(self, many);
    if (self.my_pe() == 3) write(queue, memory.data(), std::vector<int>(many, 77));
    launch_collective(world, queue, 1, threads(), call_one{}, which::broadcast, false, world.ref(),
                      memory.data(), memory.data(), many, 3);
    check(read(queue, memory.data(), many) == std::vector<int>(many, 77), "a long chain");
  });
}

namespace {

/// PE 0 has much on its way to the last PE when all begin.
struct reduce_behind_a_put {
  template <block_group Block>
  HEDDLE_FN void operator()(Block block, team_ref team, int* large, heddle::size_t n_large,
                            const int* input, int* output, heddle::size_t n) const {
    if (team.my_pe() == 0)
      for (int i = 0; i < 4; ++i) team.put_nbi(block, large, large, n_large, team.n_pes() - 1);
    all_reduce(block, team, input, output, n);
  }
};

}  // namespace

TEST_CASE("what one PE puts late is there in a team of more PEs than tell each other") {
  if (on_gpu()) return;  // all are mapped there, and not so many
  // Whose word that all have put comes by way of others, and not behind the data.
  run_many_pes(barrier_memory::max_direct + 3, [](runtime& self) {
    const auto world = self.world();
    const auto stream = self.default_stream();
    const std::size_t n = 20'011;
    const std::size_t n_large = is_cut_short() ? 10'000 : 4'000'000;
    symmetric_array<int> large(self, n_large), input(self, n), output(self, n);
    const auto value = [](int pe, std::size_t i, int round) {
      return (pe + 1) * round * 1009 + static_cast<int>(i);
    };
    for (int round = 1; round <= 6; ++round) {
      std::vector<int> mine(n), expected(n, 0);
      for (std::size_t i = 0; i < n; ++i) {
        mine[i] = value(world.my_pe(), i, round);
        for (int pe = 0; pe < world.n_pes(); ++pe) expected[i] += value(pe, i, round);
      }
      stream.copy(input.data(), mine.data(), n);
      launch(stream, 1, threads(), reduce_behind_a_put{}, world.ref(), large.data(), n_large,
             input.data(), output.data(), n);
      check(read(stream, output.data(), n) == expected, "round " + std::to_string(round));
    }
    world.barrier();
  });
}

TEST_CASE("kernels round small floats once along a ring, where that is asked for") {
  if (on_gpu() || is_cut_short()) return;  // as above: teams of fewer take no ring here
  run_many_pes(66, [&](runtime& self) {
    const auto world = self.world();
    world.set_accumulate_f32(true);
    const auto queue = self.create_stream();
    const auto n_pes = static_cast<std::size_t>(self.n_pes());
    for (const std::size_t n : {1, 1001, 9000}) {
      const device_array<f16> memory(self, (n_pes + 3) * n);
      f16* out = memory.data() + n_pes * n;
      // 2048 + 1 + 1 + ... in float16, whose neighbours there are two apart.
      const float mine = self.my_pe() == 0 ? 2048 : 1;
      write(queue, memory.data(), std::vector<f16>(n_pes * n, from_float<f16>(mine)));
      launch(queue, 2, 1, small_sums{}, world.ref(), memory.data(), out, n);
      const float sum = to_float(from_float<f16>(2047 + static_cast<float>(n_pes)));
      const auto got = read(queue, out, (self.my_pe() == 1 ? 3 : 2) * n);
      check(std::all_of(got.begin(), got.end(), [&](f16 x) { return to_float(x) == sum; }),
            "sums of " + std::to_string(n) + " float16 that were rounded more than once");
    }
  });
}

TEST_CASE("the host reduces by a reduction of the user's, in order with other collectives") {
  for (const int n_pes : fewer_if_cut_short({1, 2, 4})) {
    // Each has four streams, with the default one and that of its copies, and a GPU 32 queues for
    // all: kernels wait behind those that wait for them.
    if (on_gpu() && n_pes > 4) continue;
    run_pes(n_pes, [&](runtime& self) {
      const auto world = self.world();
      const auto queue = self.create_stream();
      const auto second = self.create_stream();
      for (const std::size_t n : {1, 9, 40'000}) {
        const auto pieces = static_cast<std::size_t>(n_pes);
        const device_array<int> memory(self, (pieces + 1) * n);
        int* in = memory.data();
        int* out = in + pieces * n;
        const auto value = [&](int pe, std::size_t i) {
          return (pe % 2 == 0 ? -1 : 1) * (static_cast<int>(i % 7) + pe);
        };
        std::vector<int> mine(pieces * n);
        for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = value(self.my_pe(), i);
        const auto expect = [&](std::size_t first, const char* what) {
          const auto got = read(queue, out, n);
          std::size_t wrong = 0;
          for (std::size_t i = 0; i < n; ++i) {
            int most = value(0, first + i);
            for (int pe = 1; pe < n_pes; ++pe)
              most = largest_magnitude().combine(most, value(pe, first + i));
            wrong += got[i] != most;
          }
          check(wrong == 0, std::string(what) + " of " + std::to_string(n) + " on " +
                                std::to_string(n_pes) + " PEs: " + std::to_string(wrong) +
                                " wrong");
        };
        write(queue, in, mine);
        all_reduce_by(world, in, out, n, largest_magnitude(), queue);
        expect(0, "all_reduce_by");
        reduce_scatter_by(world, in, out, n, largest_magnitude());
        expect(static_cast<std::size_t>(self.my_pe()) * n, "reduce_scatter_by");
        reduce_by(world, in, out, n, largest_magnitude(), n_pes - 1, queue);
        if (self.my_pe() == n_pes - 1) expect(0, "reduce_by");
        // On two streams: one after the other, and not at the same time.
        for (int call = 0; call < 5; ++call) {
          all_reduce_by(world, in, out, n, largest_magnitude(), queue);
          world.all_reduce(in, in, n, op::max, second);
          write(second, in, mine);
        }
        expect(0, "all_reduce_by beside all_reduce");
      }
      const device_array<int> memory(self, 8);
      try {
        all_reduce_by(world, memory.data(), memory.data() + 1, 4, largest_magnitude(), queue);
        check(false, "buffers that overlap");
      } catch (const heddle::error& failure) {
        check(std::string(failure.what()).find("overlap") != std::string::npos, failure.what());
      }
      try {
        reduce_by(world, static_cast<int*>(nullptr), static_cast<int*>(nullptr), 0,
                  largest_magnitude(), n_pes);
        check(false, "a root out of range");
      } catch (const heddle::error& failure) {
        check(failure.status() == HEDDLE_ERROR_INVALID_ARGUMENT, failure.what());
      }
    });
  }
}

TEST_CASE("collectives and barriers of a team follow each other, whatever their contexts") {
  constexpr std::size_t bytes = std::size_t{4} << 20;
  run_pes(2, [](runtime& self) {
    const auto world = self.world();
    const symmetric_array<byte> data(self, bytes);
    const device_array<byte> source(self, bytes);
    const device_array<int> words(self, 3);
    write(self.default_stream(), words.data(), {0, 0, 0});
    for (int call = 1; call <= 5; ++call) {
      launch_collective(world, {}, 1, threads(), by_turns{}, world.ref(), data.data(),
                        source.data(), heddle::size_t{bytes}, words.data(), words.data() + 1, 10,
                        words.data() + 2);
      int value = call;
      world.broadcast(&value, &value, 1, 1);
    }
    world.barrier();
    check(read(self.default_stream(), words.data() + 2, 1)[0] == 0, "what is broadcast");
  });
}
