// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <poll.h>

#include "job.hpp"

using namespace heddle;
using namespace heddle::conformance;

TEST_CASE("a PE that sleeps on the descriptor is woken by what peers do to it") {
  run_job({.deadline = 40}, [](test_pe& self) {
    self.expose(0, self.heap().size());
    constexpr int rounds = 20;
    if (self.pe() == 0) {
      const auto bytes = self.local(100000);
      for (int round = 0; round < rounds; ++round) {
        // A read asks for a PE that makes progress, where the provider has no thread for that.
        self.read(bytes, {1, 0, 0});
        self.write({1, 0, 0}, bytes);
        self.send(1, std::vector<std::byte>(round % 2 == 0 ? 8 : 4000));
        self.receive();
      }
      return;
    }
    int answered = 0;
    int unwoken = 0;
    while (answered < rounds) {
      while (self.network().progress(self.told)) {
      }
      if (!self.told.messages.empty()) {
        self.receive();
        self.send(0, std::vector<std::byte>(8));
        ++answered;
        continue;
      }
      const int descriptor = self.network().wait_descriptor();
      if (descriptor < 0) {
        self.wait("a message, without a descriptor", [&] { return !self.told.messages.empty(); });
        continue;
      }
      if (!self.network().may_wait()) continue;
      pollfd watched{descriptor, POLLIN, 0};
      constexpr int milliseconds = 2000;
      if (::poll(&watched, 1, milliseconds) == 0) ++unwoken;
      expect(unwoken == 0, "nothing woke a wait, although the peer posts without a pause");
    }
  });
}
