// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#include "host/mapped_pes.hpp"

#include <doctest/doctest.h>

#include <utility>

using namespace heddle;

namespace {

mapped_pes of_pairs(int n_pes, const std::vector<std::pair<int, int>>& unmapped) {
  std::vector<mapped_pes::bytes> told;
  for (int pe = 0; pe < n_pes; ++pe)
    told.push_back(mapped_pes::find(n_pes, [&](int other) {
      for (const auto& [a, b] : unmapped)
        if ((pe == a && other == b) || (pe == b && other == a)) return false;
      return true;
    }));
  return mapped_pes(told);
}

}  // namespace

TEST_CASE("PEs that all map each other") {
  for (const int n_pes : {1, 2, 5}) {
    const auto mapped = of_pairs(n_pes, {});
    CHECK(mapped.is_all());
    CHECK(mapped.map_each_other({0, n_pes - 1}));
    CHECK(mapped.are_apart({0}));
  }
}

TEST_CASE("where two do not map each other, who maps both finds what they find") {
  const auto mapped = of_pairs(4, {{1, 2}});
  CHECK_FALSE(mapped.is_all());
  CHECK_FALSE(mapped.map_each_other({0, 1, 2, 3}));
  CHECK_FALSE(mapped.map_each_other({2, 1}));
  CHECK(mapped.map_each_other({3, 1, 0}));
  CHECK(mapped.map_each_other({0, 2, 3}));
  CHECK(mapped.map_each_other({2}));
  CHECK(mapped.are_apart({2, 1}));
  CHECK_FALSE(mapped.are_apart({0, 1, 2}));  // 0 maps both
}

TEST_CASE("a PE that maps others which do not map it") {
  std::vector<mapped_pes::bytes> told;
  for (int pe = 0; pe < 3; ++pe)
    told.push_back(mapped_pes::find(3, [&](int other) { return pe == 0 || other == pe; }));
  const mapped_pes mapped(told);
  CHECK_FALSE(mapped.is_all());
  CHECK_FALSE(mapped.map_each_other({0, 1}));
  CHECK_FALSE(mapped.are_apart({0, 1}));
  CHECK(mapped.are_apart({1, 2}));
}

TEST_CASE("65,536 PEs of hosts of 8") {
  constexpr int n_pes = 65'536;
  std::vector<mapped_pes::bytes> told;
  for (int pe = 0; pe < n_pes; ++pe)
    told.push_back(pe % 8 == 0
                       ? mapped_pes::find(n_pes, [&](int other) { return other / 8 == pe / 8; })
                       : told.back());
  const mapped_pes mapped(told);
  std::vector<std::int32_t> all;
  for (int pe = 0; pe < n_pes; ++pe) all.push_back(pe);
  CHECK_FALSE(mapped.map_each_other(all));
  CHECK(mapped.map_each_other({8, 9, 10, 15}));
  CHECK_FALSE(mapped.map_each_other({7, 8}));
}
