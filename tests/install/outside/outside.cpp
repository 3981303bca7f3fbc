// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// Two PEs as threads, kernels and a collective: what a user's first program does.

#include <chrono>
#include <cstdio>
#include <heddle/device/launch.hpp>
#include <heddle/heddle.hpp>
#include <thread>

struct swap_words {
  template <heddle::block_group Block>
  HEDDLE_FN void operator()(Block block, heddle::team_ref team, int* word,
                            heddle::signal* ready) const {
    const int other = 1 - team.my_pe();
    const int value = 10 + team.my_pe();
    team.put_signal(block, word, &value, 1, ready, 1, heddle::signal_op::set, other);
    team.wait_until(block, ready, heddle::cmp::eq, heddle::signal{1});
  }
};

/// One of its threads returns while the others sleep at a barrier of the block, whose code is this
/// program's: that the thread has left is the library's to say.
struct leave_late {
  template <heddle::block_group Block>
  HEDDLE_FN void operator()(Block block, int* went_on) const {
    if (block.rank() == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      return;
    }
    block.sync();
    if (block.rank() == 1) *went_on = 1;
  }
};

int main() try {
  heddle::run_as_threads(2, [](heddle::runtime& runtime) {
    const auto world = runtime.world();
    heddle::symmetric_array<int> word(runtime, 1);
    heddle::symmetric_array<heddle::signal> ready(runtime, 1);
    heddle::launch(runtime.default_stream(), 1, 1, swap_words{}, world.ref(), word.data(),
                   ready.data());
    int went_on = 0;
    heddle::launch(runtime.default_stream(), 1, 3, leave_late{}, &went_on);
    runtime.default_stream().synchronize();
    if (!went_on) throw heddle::error(HEDDLE_ERROR_INTERNAL, "no thread went on");
    int sum = 0;
    world.all_reduce(word.data(), &sum, 1, heddle::op::sum);
    if (sum != 21) throw heddle::error(HEDDLE_ERROR_INTERNAL, "the sum is not 21");
  });
  std::puts("outside_cpp: 21");
} catch (const heddle::error& failure) {
  std::fprintf(stderr, "outside_cpp: %s\n", failure.what());
  return 1;
}
