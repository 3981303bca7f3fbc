// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// What becomes of the command engine's staging where a peer does not answer, or is lost.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <set>
#include <vector>

#include "engine_fixture.hpp"

namespace heddle::testing {
namespace {

/// A get into memory of which the network knows nothing; false: not now.
bool get_from(fixture& f, int pe, std::vector<std::byte>& to) {
  auto get = f.command_to(pe, command_kind::get);
  get.what.local = reinterpret_cast<std::uint64_t>(to.data());
  get.what.bytes = to.size();
  if (f.engine.carry_out(get)) return true;
  f.progress();  // it asks where the piece is, first
  f.network.arrives(
      frame_maker(job, pe, 1).add(piece_at(0, 0, 4096), std::vector<std::byte>(8)).bytes());
  f.progress();
  return f.engine.carry_out(get);
}

TEST_CASE("what a network may still write for a lost peer is written to nobody's memory") {
  for (const bool ends : {false, true}) {
    CAPTURE(ends);
    fixture f({.name = {}, .needs_registered_local = true, .ends_what_is_dropped = ends});
    std::vector<std::byte> local(3000);
    const auto& all = f.network.read_into;
    CHECK(get_from(f, 1, local));
    void* const of_lost = all.back();
    f.engine.drop_peer(1);
    CHECK(get_from(f, 2, local));
    CHECK((all.back() == of_lost) == ends);
    // All that there is can still be used at a time.
    for (int i = 1; i < staging_pool::chunks; ++i) CHECK(get_from(f, 3, local));
    std::set<void*> apart(all.begin() + 1, all.end());
    CHECK(apart.size() == staging_pool::chunks);
    CHECK(apart.contains(of_lost) == ends);
  }
}

TEST_CASE("what was given up leaves staging to others, though its peer does not answer") {
  fixture f({.name = {}, .needs_registered_local = true});
  std::vector<std::byte> lent(3000);
  std::vector<std::byte> local(3000);
  for (int i = 0; i < staging_pool::chunks; ++i) CHECK(get_from(f, 1, lent));
  CHECK_FALSE(get_from(f, 2, local));
  f.producer.given_up = f.last_index;
  CHECK(get_from(f, 2, local));
  CHECK(std::count(f.network.read_into.begin(), f.network.read_into.end(),
                   f.network.read_into.back()) == 1);
  // The answers come after all, to nobody.
  for (const auto read : f.network.reads) {
    std::memset(f.network.read_into.front(), 7, lent.size());
    f.network.read_into.pop_front();
    f.network.completes(read);
    f.progress();
  }
  CHECK(std::count(lent.begin(), lent.end(), std::byte{0}) == std::ptrdiff_t(lent.size()));
  CHECK(std::count(local.begin(), local.end(), std::byte{7}) == std::ptrdiff_t(local.size()));
}

}  // namespace
}  // namespace heddle::testing
