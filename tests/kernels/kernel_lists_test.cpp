// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// What kernels call with a list of pieces, and their sends and receives, on the device that
// HEDDLE_DEVICE chooses (see kernels_test.cpp).

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <heddle/device/collectives.hpp>
#include <heddle/device/launch.hpp>
#include <heddle/device_array.hpp>
#include <heddle/heddle.hpp>
#include <heddle/symmetric_array.hpp>
#include <string>
#include <vector>

#include "kernels/on_device.hpp"
#include "kernels/piece_lists.hpp"

using namespace heddle;
using namespace heddle::testing;

namespace {

enum class which : int {
  all_gather_v,
  all_gather_v_in_place,
  all_to_all_v,
  reduce_scatter_v,
  sendrecv,
  send_and_recv
};
constexpr int n_whiches = 6;
constexpr const char* names[] = {"all_gather_v", "all_gather_v in place",
                                 "all_to_all_v", "reduce_scatter_v",
                                 "sendrecv",     "send and recv"};

/// One call, from all blocks or from the last one.
struct call_one {
  template <block_group Block>
  HEDDLE_FN void operator()(Block block, which what, bool alone, team_ref team, const int* input,
                            int* output, piece_lists of) const {
    if (!alone)
      run(block, what, team, input, output, of);
    else if (block.block_rank() == block.num_blocks() - 1)
      run(one_block(block), what, team, input, output, of);
  }

 private:
  template <block_group Block>
  HEDDLE_FN static void run(Block block, which what, const team_ref& team, const int* input,
                            int* output, const piece_lists& of) {
    const int me = team.my_pe();
    const int next = (me + 1) % team.n_pes();
    const int previous = (me + team.n_pes() - 1) % team.n_pes();
    switch (what) {
      case which::all_gather_v:
        return all_gather_v(block, team, input, output, of.out_counts, of.out_places);
      case which::all_gather_v_in_place:
        return all_gather_v(block, team, output + of.out_places[me], output, of.out_counts,
                            of.out_places);
      case which::all_to_all_v:
        return all_to_all_v(block, team, input, of.in_counts, of.in_places, output, of.out_counts,
                            of.out_places);
      case which::reduce_scatter_v:
        return reduce_scatter_v(block, team, input, output, of.in_counts, of.in_places);
      case which::sendrecv:
        return sendrecv(block, team, input, of.in_counts[next], next, output,
                        of.out_counts[previous], previous);
      case which::send_and_recv:
        // One way, and back.
        if (me % 2 == 0 && me + 1 < team.n_pes()) {
          send(block, team, input, of.in_counts[me + 1], me + 1);
          recv(block, team, output, of.out_counts[me + 1], me + 1);
        } else if (me % 2 == 1) {
          recv(block, team, output, of.out_counts[me - 1], me - 1);
          send(block, team, input, of.in_counts[me - 1], me - 1);
        }
    }
  }
};

/// Element i of what a PE has: of each call another, so that what one has left is nothing for the
/// next.
int value_of(int call, int pe, std::size_t i) {
  return call % 1009 * 31 + pe * 10'007 + static_cast<int>(i % 9973);
}

/// One PE's part of calls in which PE a has for PE b weight(a, b) times n elements; in what all
/// have alike, weight(b, b).
class caller {
 public:
  caller(const runtime& self, const team& team, std::size_t most, bool symmetric)
      : team_(team),
        me_(team.my_pe()),
        n_pes_(team.n_pes()),
        room_((3 * most + 5) * static_cast<std::size_t>(n_pes_)),
        queue_(self.create_stream()),
        heap_(self, symmetric ? 2 * room_ : 0),
        own_(self, symmetric ? 0 : 2 * room_),
        lists_(self, 4 * static_cast<std::size_t>(n_pes_)),
        input_(symmetric ? heap_.data() : own_.data()),
        output_(input_ + room_) {}

  void call(which what, std::size_t n, int blocks, bool alone, int block_threads = threads()) {
    ++calls_;
    const bool to_each = what == which::all_to_all_v || is_transfer(what);
    const auto in =
        laid_out([&](int pe) { return (to_each ? weight(me_, pe) : weight(pe, pe)) * n; });
    const auto out =
        laid_out([&](int pe) { return (to_each ? weight(pe, me_) : weight(pe, pe)) * n; });
    auto all = in.counts;
    for (const auto* list : {&in.places, &out.counts, &out.places})
      all.insert(all.end(), list->begin(), list->end());
    write(queue_, lists_.data(), all);
    std::vector<int> input(room_);
    for (std::size_t i = 0; i < room_; ++i) input[i] = value_of(calls_, me_, i);
    std::vector<int> output(room_, -1);
    const auto me = static_cast<std::size_t>(me_);
    if (what == which::all_gather_v_in_place)
      for (std::size_t i = 0; i < out.counts[me]; ++i) output[out.places[me] + i] = input[i];
    write(queue_, input_, input);
    write(queue_, output_, output);
    const heddle::size_t* list = lists_.data();
    launch(queue_, blocks, block_threads, call_one{}, what, alone, team_.ref(),
           static_cast<const int*>(input_), output_,
           piece_lists{list, list + n_pes_, list + 2 * n_pes_, list + 3 * n_pes_});
    expect(what, in, out, n, output);
    const auto got = read(queue_, output_, room_);
    check(got == output, std::string(names[static_cast<int>(what)]) + " of " + std::to_string(n) +
                             " elements, PE " + std::to_string(me_) + " of " +
                             std::to_string(n_pes_) + ", " + std::to_string(blocks) +
                             (alone ? " blocks, one calls" : " blocks"));
  }

 private:
  struct layout {
    std::vector<heddle::size_t> counts;
    std::vector<heddle::size_t> places;
  };
  static bool is_transfer(which what) {
    return what == which::sendrecv || what == which::send_and_recv;
  }
  static std::size_t weight(int from, int to) {
    return static_cast<std::size_t>((2 * from + to) % 4);
  }
  /// With gaps between the pieces.
  template <class Count>
  [[nodiscard]] layout laid_out(const Count& count) const {
    layout made;
    std::size_t end = 1;
    for (int pe = 0; pe < n_pes_; ++pe) {
      made.counts.push_back(count(pe));
      made.places.push_back(end);
      end += made.counts.back() + 3;
    }
    return made;
  }

  /// Writes to `output` what is to be there.
  void expect(which what, const layout& in, const layout& out, std::size_t n,
              std::vector<int>& output) const {
    const auto piece = [&](int from, std::size_t first, std::size_t count, std::size_t place) {
      for (std::size_t i = 0; i < count; ++i) output[place + i] = value_of(calls_, from, first + i);
    };
    const auto count_from = [&](int pe) { return out.counts[static_cast<std::size_t>(pe)]; };
    const auto place_from = [&](int pe) { return out.places[static_cast<std::size_t>(pe)]; };
    switch (what) {
      case which::all_gather_v:
      case which::all_gather_v_in_place:
        for (int pe = 0; pe < n_pes_; ++pe) piece(pe, 0, count_from(pe), place_from(pe));
        return;
      case which::all_to_all_v:
        for (int pe = 0; pe < n_pes_; ++pe) {
          std::size_t there = 1;
          for (int before = 0; before < me_; ++before) there += weight(pe, before) * n + 3;
          piece(pe, there, count_from(pe), place_from(pe));
        }
        return;
      case which::reduce_scatter_v: {
        const auto me = static_cast<std::size_t>(me_);
        for (std::size_t i = 0; i < in.counts[me]; ++i) {
          output[i] = 0;
          for (int pe = 0; pe < n_pes_; ++pe) output[i] += value_of(calls_, pe, in.places[me] + i);
        }
        return;
      }
      case which::sendrecv: {
        const int previous = (me_ + n_pes_ - 1) % n_pes_;
        return piece(previous, 0, count_from(previous), 0);
      }
      case which::send_and_recv: {
        const int other = me_ % 2 == 0 ? me_ + 1 : me_ - 1;
        if (other < n_pes_) piece(other, 0, count_from(other), 0);
        return;
      }
    }
  }

  const team& team_;
  int me_;
  int n_pes_;
  std::size_t room_;  ///< of a buffer, in elements
  stream queue_;
  symmetric_array<int> heap_;
  device_array<int> own_;
  device_array<heddle::size_t> lists_;
  int* input_;
  int* output_;
  int calls_ = 0;
};

}  // namespace

TEST_CASE("kernels call what takes lists, and send and receive") {
  for (const int n_pes : fewer_if_cut_short({1, 2, 3, 5})) {
    CAPTURE(n_pes);
    run_pes(n_pes, [&](runtime& self) {
      const auto world = self.world();
      const std::size_t most = less_if_cut_short(30'001);
      for (const bool symmetric : {true, false}) {
        caller pe(self, world, most, symmetric);
        for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{300}, most})
          for (int what = 0; what < n_whiches; ++what) {
            pe.call(static_cast<which>(what), n, 1, false);
            pe.call(static_cast<which>(what), n, 3, false);
            pe.call(static_cast<which>(what), n, 2, true);
          }
      }
    });
  }
}

TEST_CASE("the same in teams of more than 64 PEs") {
  // Not of so many PEs; and under sanitizers their blocks' threads take minutes.
  if (on_gpu() || is_cut_short()) return;
  run_many_pes(66, [&](runtime& self) {
    const auto world = self.world();
    for (const bool symmetric : {true, false}) {
      caller pe(self, world, 400, symmetric);
      for (int what = 0; what < n_whiches; ++what)
        pe.call(static_cast<which>(what), symmetric ? 400 : 1, symmetric ? 2 : 1, false, 1);
    }
  });
}

namespace {

struct send_to_itself {
  template <block_group Block>
  HEDDLE_FN void operator()(Block block, team_ref team, const int* input, int* output) const {
    const int next = (team.my_pe() + 1) % team.n_pes();
    sendrecv(block, team, input, 5, team.my_pe(), output, 5, next);
  }
};

}  // namespace

TEST_CASE("what a PE sends to itself in a kernel it must receive there") {
  for (const int n_pes : fewer_if_cut_short({2})) {
    if (n_pes == 1) continue;  // receives from itself what it sends to itself
    run_pes(n_pes, [&](runtime& self) {
      const auto world = self.world();
      const auto queue = self.create_stream();
      const device_array<int> memory(self, 10);
      try {
        launch(queue, 1, threads(), send_to_itself{}, world.ref(),
               static_cast<const int*>(memory.data()), memory.data() + 5);
        queue.synchronize();
        world.barrier(queue);
        queue.synchronize();
        check(false, "no error");
      } catch (const heddle::error& failure) {
        check(failure.status() == HEDDLE_ERROR_MISMATCH &&
                  std::string(failure.what()).find("20 bytes") != std::string::npos,
              failure.what());
      }
    });
  }
}
