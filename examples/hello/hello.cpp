// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// Every PE puts a greeting into its right neighbour's memory, from inside a kernel. On whichever
// device: what the kernel leaves is copied to the host.
//
//     heddle-run -n 4 hello
//     HEDDLE_DEVICE=cuda heddle-run -n 4 hello

#include <cstdio>
#include <heddle/device/launch.hpp>
#include <heddle/heddle.hpp>

struct greet {
  template <heddle::block_group Block>
  HEDDLE_FN void operator()(Block block, heddle::team_ref team, int* inbox,
                            heddle::signal* ready) const {
    const int right = (team.my_pe() + 1) % team.n_pes();
    const int greeting = 100 + team.my_pe();
    team.put_signal(block, inbox, &greeting, 1, ready, 1, heddle::signal_op::set, right);
    team.wait_until(block, ready, heddle::cmp::eq, heddle::signal{1});
  }
};

int main() try {
  const heddle::runtime runtime;
  const auto world = runtime.world();
  heddle::symmetric_array<int> inbox(runtime, 1);
  heddle::symmetric_array<heddle::signal> ready(runtime, 1);
  const auto stream = runtime.default_stream();
  heddle::launch(stream, 1, 1, greet{}, world.ref(), inbox.data(), ready.data());
  int greeting = 0;
  stream.copy(&greeting, inbox.data(), 1);
  stream.synchronize();
  std::printf("PE %d of %d was sent %d\n", world.my_pe(), world.n_pes(), greeting);
} catch (const heddle::error& failure) {
  std::fprintf(stderr, "hello: %s\n", failure.what());
  return 1;
}
