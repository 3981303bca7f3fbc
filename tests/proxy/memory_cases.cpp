// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// Memory that comes and goes while the job runs.

#include <doctest/doctest.h>

#include "proxy_job.hpp"

namespace heddle::testing {
namespace {

constexpr std::size_t piece = std::size_t{256} << 10;

TEST_CASE("a heap that grows piece by piece is reached at once, over all its pieces") {
  if (!chosen_network().waits_for_places) return;
  constexpr std::size_t n = 12;
  proxy_job job({.n_pes = 3, .user_bytes = n * piece, .exposed_bytes = piece});
  job.run([&](test_pe& self) {
    std::vector<std::byte> source(n * piece);
    for (std::size_t pieces = 2; pieces <= n; ++pieces) {
      // PEs grow at different times: whoever is early waits for the others' pieces.
      if (self.pe == static_cast<int>(pieces) % self.n_pes)
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      job.expose(self.pe, (pieces - 1) * piece, pieces * piece);
      const std::size_t size = (pieces - 1) * piece + 100;
      fill({source.data(), size}, pieces * 10 + static_cast<std::uint64_t>(self.pe));
      self.team.put_nbi(one, self.user(100), source.data(), size, self.right());
      self.barrier();
      expect_filled({self.user(100), size}, pieces * 10 + static_cast<std::uint64_t>(self.left()),
                    fmt::format("{} pieces", pieces));
      self.team.get(one, source.data(), self.user(100), size, self.right());
      expect_filled({source.data(), size}, pieces * 10 + static_cast<std::uint64_t>(self.pe),
                    fmt::format("{} pieces, got", pieces));
      self.barrier();
    }
  });
}

TEST_CASE("a place that is concealed and exposed again has another key, and is reached") {
  proxy_job job({.n_pes = 3, .contexts = 3, .user_bytes = 2 * piece, .exposed_bytes = piece});
  job.run([&](test_pe& self) {
    std::vector<std::byte> source(piece);
    for (std::uint64_t round = 1; round <= static_cast<std::uint64_t>(rounds(20)); ++round) {
      job.expose(self.pe, piece, 2 * piece);
      self.barrier();
      fill(source, round * 10 + static_cast<std::uint64_t>(self.pe));
      // All contexts ask where the piece is, at the same time.
      for (int c = 0; c < 3; ++c)
        self.team.context(c).put_nbi(one, self.user(piece) + c * 80'000, source.data() + c * 80'000,
                                     80'000, self.right());
      for (int c = 0; c < 3; ++c) self.team.context(c).quiet();
      self.barrier();
      expect_filled({self.user(piece), 3 * 80'000},
                    round * 10 + static_cast<std::uint64_t>(self.left()),
                    fmt::format("round {}", round));
      self.barrier();
      job.conceal(self.pe, piece);
      self.barrier();
    }
  });
}

}  // namespace
}  // namespace heddle::testing
