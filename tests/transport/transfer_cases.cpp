// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "job.hpp"

using namespace heddle;
using namespace heddle::conformance;

TEST_CASE("writes and reads of every size and alignment move exactly their bytes") {
  run_job({.heap_bytes = 1 << 20}, [](test_pe& self) {
    self.expose(0, self.heap().size());
    const int peer = 1 - self.pe();
    const auto source = self.local(self.heap().size());
    const auto back = self.local(self.heap().size());
    std::uint64_t salt = 10 + static_cast<std::uint64_t>(self.pe());
    for (std::size_t size :
         {1, 2, 3, 7, 8, 9, 63, 64, 65, 127, 128, 129, 1000, 4095, 4096, 4097, 65537, 300001})
      for (std::size_t shift : {0, 1, 5}) {
        const remote_place place{peer, 0, 4096 + shift};
        fill(source.subspan(shift, size), ++salt);
        self.write(place, source.subspan(shift, size));
        // A read after the write's completion does not have to see it, without delivery.
        self.wait("the bytes written", [&] {
          self.read(back.subspan(shift, size), place);
          return back[shift] == source[shift] && back[shift + size - 1] == source[shift + size - 1];
        });
        expect_filled(back.subspan(shift, size), salt, fmt::format("{} bytes at {}", size, shift));
      }
  });
}
