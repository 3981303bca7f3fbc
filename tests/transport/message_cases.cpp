// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstring>

#include "job.hpp"

using namespace heddle;
using namespace heddle::conformance;

namespace {

std::vector<std::byte> numbered_message(int from, std::uint64_t number, std::size_t size) {
  std::vector<std::byte> message(size);
  fill(message, number * 8 + static_cast<std::uint64_t>(from));
  return message;
}

}  // namespace

TEST_CASE("messages of every size arrive whole and in order") {
  for (int n_pes : {2, 3})
    run_job({.n_pes = n_pes}, [](test_pe& self) {
      const auto most = self.network().about().most_message_bytes;
      const int right = (self.pe() + 1) % self.n_pes();
      const int left = (self.pe() + self.n_pes() - 1) % self.n_pes();
      std::vector<std::size_t> sizes;
      for (std::size_t size = 1; size <= most; size = size * 2 + 1) sizes.push_back(size);
      sizes.insert(sizes.end(), {64, 65, 128, 129, 255, 256, most - 1, most});
      std::uint64_t number = 0;
      for (int round = 0; round < 20; ++round)
        for (auto size : sizes) self.send(right, numbered_message(self.pe(), ++number, size));
      number = 0;
      for (int round = 0; round < 20; ++round)
        for (auto size : sizes) {
          const auto message = self.receive();
          expect(message.size() == size,
                 fmt::format("message {} has {} bytes, not {}", number + 1, message.size(), size));
          expect_filled(message, ++number * 8 + static_cast<std::uint64_t>(left),
                        fmt::format("message {}", number));
        }
    });
}
