// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "pieces.hpp"

#include <doctest/doctest.h>

using namespace perf;

TEST_CASE("pieces stand one behind the other, and uneven ones have 1, 2, 0 ... units") {
  const auto uneven = divide(4, 10, [](int pe) { return units_of(pe, true); });
  CHECK(uneven.counts == std::vector<std::size_t>{10, 20, 0, 10});
  CHECK(uneven.displacements == std::vector<std::size_t>{0, 10, 30, 30});
  CHECK(uneven.total == 40);
  CHECK(divide(3, 5, [](int pe) { return units_of(pe, false); }).total == 15);
}

TEST_CASE("of equal pieces all but one's own cross the links") {
  for (const int n : {1, 2, 5}) {
    CAPTURE(n);
    CHECK(load_of_shared(n, false).share() == doctest::Approx((n - 1.0) / n));
    CHECK(load_of_pairs(n, false).share() == doctest::Approx((n - 1.0) / n));
  }
}

TEST_CASE("of uneven pieces the busiest PE's cross the links") {
  CHECK(load_of_shared(1, true).share() == 0);
  CHECK(load_of_shared(2, true).share() == doctest::Approx(2. / 3));  // PE 0 has 1 of 3
  CHECK(load_of_shared(3, true).share() == 1);                        // PE 2 has none
  const auto pairs = load_of_pairs(2, true);  // 1 and 0 from PE 0, 2 and 1 from PE 1
  CHECK(pairs.all == 3);
  CHECK(pairs.links == 2);
}

TEST_CASE("what a PE sends to another is not what it gets from it") {
  CHECK(units_between(0, 1, true) == 0);
  CHECK(units_between(1, 0, true) == 2);
  CHECK(units_between(1, 0, false) == 1);
}
