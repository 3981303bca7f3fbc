// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// A PE of the fault tests: reduces for ever; the PE named by the argument kills itself in the
// middle. The others must get an error that names it within 5 seconds. Prints one line and ends
// with 0 when all was as it should be.

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <heddle/heddle.hpp>
#include <string>

int main(int argc, char** argv) try {
  const int victim = argc > 1 ? std::atoi(argv[1]) : 1;
  const heddle::runtime runtime;
  const auto world = runtime.world();
  heddle::symmetric_array<float> data(runtime, 100'000);
  const auto reduce = [&] {
    world.all_reduce(data.data(), data.data(), data.size(), heddle::op::max);
  };
  const auto start = std::chrono::steady_clock::now();
  try {
    for (int i = 0; i < 20; ++i) reduce();
    if (world.my_pe() == victim) std::raise(SIGKILL);
    for (;;) reduce();
  } catch (const heddle::error& failure) {
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const std::string text = failure.what();
    const bool right = failure.status() == HEDDLE_ERROR_PEER_LOST && seconds < 5 &&
                       text.find("PE " + std::to_string(victim)) != std::string::npos;
    std::printf("PE %d %s after %.3f s: %s\n", world.my_pe(), right ? "RIGHT" : "WRONG", seconds,
                text.c_str());
    return right ? 0 : 1;
  }
} catch (const std::exception& failure) {
  std::printf("WRONG: %s\n", failure.what());
  return 1;
}
