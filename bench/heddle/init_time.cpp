// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// Init, one AllReduce, finalize: the runner times the whole launch.
#include <heddle/heddle.hpp>

#include "../program.hpp"

int main() {
  return bench::run_program("init_time", [] {
    const heddle::runtime runtime;
    const heddle::team world = runtime.world();
    const float one = 1;
    float sum = 0;
    world.all_reduce(&one, &sum, 1, heddle::op::sum);
    if (sum != static_cast<float>(world.n_pes()))
      throw std::runtime_error("the sum is " + std::to_string(sum) + ", not " +
                               std::to_string(world.n_pes()));
    if (world.my_pe() == 0) std::printf("{\"what\": \"init\", \"n_pes\": %d}\n", world.n_pes());
  });
}
