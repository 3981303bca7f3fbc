// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// Sizes, places and elements of put and get.

#include <doctest/doctest.h>

#include <algorithm>

#include "doctest/cut_short.hpp"
#include "host/proxy/staging_pool.hpp"
#include "proxy_job.hpp"

namespace heddle::testing {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

/// Around everything at which an engine does something else.
std::vector<std::size_t> sizes(std::size_t eager) {
  std::vector<std::size_t> all = {0,  1,   2,   3,   4,   5,    7,    8,    9,    15,   63,   64,
                                  65, 511, 512, 513, 999, 1000, 2047, 2048, 2049, 4095, 4096, 4097};
  for (const std::size_t edge : {eager, staging_pool::chunk_bytes, 4 * staging_pool::chunk_bytes})
    for (const std::size_t size : {edge - 1, edge, edge + 1, edge + 13}) all.push_back(size);
  return all;
}

TEST_CASE("put and get move every size, from and to any address and kind of memory") {
  proxy_job job({.n_pes = 2, .user_bytes = 8 * mib});
  job.run([&](test_pe& self) {
    const auto all = sizes(job.proxy_of(self.pe).about().eager_bytes);
    std::vector<std::byte> own(3 * mib);
    auto* symmetric = self.user(4 * mib);
    auto* target = self.user(0);
    std::uint64_t round = 0;
    for (const std::size_t size : all)
      for (const bool is_private : {true, false}) {
        ++round;
        const std::size_t here = self.pe == 0 ? round % 9 : round * 5 % 13;
        const std::size_t there = round * 7 % 17;
        auto* source = (is_private ? own.data() : symmetric) + here;
        fill({source, size}, round * 10 + static_cast<std::uint64_t>(self.pe));
        self.team.put(one, target + 64 + there, source, size, self.right());
        fill({source, size}, 0);  // a put that has returned needs its source no more
        self.barrier();
        const auto what = fmt::format("{} bytes to {} from {}", size, there, here);
        expect_filled({target + 64 + there, size},
                      round * 10 + static_cast<std::uint64_t>(self.left()), what);
        for (const std::size_t around : {63 + there, 64 + there + size})
          expect(target[around] == std::byte{0}, what + ": a byte beside them was written");
        // Back with get.
        auto* back = (is_private ? own.data() : symmetric) + mib + here;
        self.team.get(one, back, target + 64 + there, size, self.right());
        expect_filled({back, size}, round * 10 + static_cast<std::uint64_t>(self.pe),
                      what + ", got");
        self.barrier();
        std::fill_n(target, size + 128, std::byte{0});
        self.barrier();
      }
  });
}

TEST_CASE("what moves nothing is done, and its signal arrives") {
  proxy_job job({.n_pes = 2});
  job.run([&](test_pe& self) {
    auto* target = self.user(64);
    auto* words = self.user<std::uint64_t>(64);
    auto* ready = self.user<std::uint64_t>(0);
    std::uint64_t own = 7;
    auto* bytes = reinterpret_cast<std::byte*>(&own);
    for (std::uint64_t round = 1; round <= 20; ++round) {
      self.team.put(one, target, bytes, 0, self.right());
      self.team.put_nbi(one, target, bytes, 0, self.right());
      self.team.get(one, bytes, target, 0, self.right());
      self.team.get_nbi(one, bytes, target, 0, self.right());
      self.team.iput(one, words, &own, 3, 2, 0, self.right());
      self.team.iget(one, &own, words, 2, 3, 0, self.right());
      self.team.put_signal(one, target, bytes, 0, ready, 1, signal_op::add, self.right());
      self.team.put_signal_nbi(one, target, bytes, 0, ready + 1, round, signal_op::set,
                               self.right());
      self.wait(ready, cmp::ge, round, "a signal added with nothing");
      self.wait(ready + 1, cmp::ge, round, "a signal set with nothing");
    }
    self.team.quiet();
    self.barrier();
    expect(*ready == 20, "a signal was added more than once");
    expect(own == 7, "a get of nothing wrote");
    expect(*words == 0, "a put of nothing wrote");
  });
}

TEST_CASE("large puts and gets, many at a time, without waiting for each") {
  constexpr std::size_t size = 3 * mib + 77;
  constexpr std::size_t n = 4;
  proxy_job job({.n_pes = 3, .user_bytes = 3 * n * size});
  job.run([&](test_pe& self) {
    std::vector<std::byte> source(n * size);
    const auto salt = [](int pe, std::size_t i) {
      return static_cast<std::uint64_t>(pe) * 100 + i;
    };
    for (std::size_t i = 0; i < n; ++i) fill({&source[i * size], size}, salt(self.pe, i));
    for (std::size_t i = 0; i < n; ++i)
      for (int pe = 0; pe < self.n_pes; ++pe)
        self.team.put_nbi(one, self.user((static_cast<std::size_t>(self.pe) * n + i) * size),
                          &source[i * size], size, pe);
    self.barrier();
    for (int from = 0; from < self.n_pes; ++from)
      for (std::size_t i = 0; i < n; ++i)
        expect_filled({self.user((static_cast<std::size_t>(from) * n + i) * size), size},
                      salt(from, i), fmt::format("put {} of PE {}", i, from));
    std::vector<std::byte> got(n * size);
    for (std::size_t i = 0; i < n; ++i)
      self.team.get_nbi(one, &got[i * size],
                        self.user((static_cast<std::size_t>(self.left()) * n + i) * size), size,
                        self.right());
    self.team.quiet();
    for (std::size_t i = 0; i < n; ++i)
      expect_filled({&got[i * size], size}, salt(self.left(), i), fmt::format("get {}", i));
  });
}

TEST_CASE("one put and one get of 64 MiB") {
  const std::size_t size = (is_cut_short() ? 6 : 64) * mib;
  proxy_job job({.n_pes = 2, .user_bytes = size + mib});
  job.run([&](test_pe& self) {
    std::vector<std::byte> own(size);
    fill(own, static_cast<std::uint64_t>(self.pe) + 5);
    if (self.pe == 0) self.team.put(one, self.user(3), own.data(), size, 1);
    self.barrier();
    if (self.pe == 1) expect_filled({self.user(3), size}, 5, "64 MiB put");
    if (self.pe == 1) fill({self.user(3), size}, 17);
    self.barrier();
    if (self.pe == 0) {
      self.team.get(one, own.data(), self.user(3), size, 1);
      expect_filled(own, 17, "64 MiB got");
    }
  });
}

TEST_CASE("p and g move one element") {
  struct odd {
    char text[3];
    bool operator==(const odd&) const = default;
  };
  struct large {
    std::uint64_t words[5];
    bool operator==(const large&) const = default;
  };
  proxy_job job({.n_pes = 2});
  job.run([&](test_pe& self) {
    const auto both = [&]<class T>(T value, std::size_t offset) {
      self.team.p(self.user<T>(offset), value, self.right());
      self.team.quiet();
      expect(self.team.g(self.user<T>(offset), self.right()) == value,
             fmt::format("an element of {} bytes came back changed", sizeof(T)));
    };
    both(std::uint8_t{200}, 1);
    both(std::int16_t{-7}, 2);
    both(std::int32_t{-70'000}, 8);
    both(std::uint64_t{0x8000000000000001}, 16);
    both(2.5, 24);
    both(odd{{'a', 'b', 'c'}}, 33);
    both(large{{1, 2, 3, 4, ~0ull}}, 48);
  });
}

template <class T>
void strided(test_pe& self, std::size_t there, std::size_t here, std::size_t n) {
  const auto value = [](int pe, std::size_t i) {
    T made{};
    fill(std::as_writable_bytes(std::span(&made, 1)), i * 4 + static_cast<std::uint64_t>(pe));
    return made;
  };
  const auto what =
      fmt::format("{} elements of {} bytes, {} apart there and {} here", n, sizeof(T), there, here);
  const auto same = [](const T& a, const T& b) { return std::memcmp(&a, &b, sizeof a) == 0; };
  const T zero{};
  std::vector<T> source(n * here);
  for (std::size_t i = 0; i < n; ++i) source[i * here] = value(self.pe, i);
  auto* target = self.user<T>(0);
  self.team.iput(one, target, source.data(), there, here, n, self.right());
  self.barrier();
  for (std::size_t i = 0; i < n; ++i) {
    expect(same(target[i * there], value(self.left(), i)), what + ": an element is wrong");
    for (std::size_t k = 1; k < there; ++k)
      expect(same(target[i * there + k], zero), what + ": an element between was written");
  }
  std::vector<T> got(n * here);
  self.team.iget(one, got.data(), target, here, there, n, self.right());
  for (std::size_t i = 0; i < n; ++i) {
    expect(same(got[i * here], value(self.pe, i)), what + ": an element got is wrong");
    for (std::size_t k = 1; k < here; ++k)
      expect(same(got[i * here + k], zero), what + ": an element between was written here");
  }
  self.barrier();
  std::memset(target, 0, n * there * sizeof(T));
  self.barrier();
}

TEST_CASE("iput and iget keep strides and elements") {
  struct three {
    char bytes[3];
  };
  struct most {
    char bytes[command::most_unit];
  };
  proxy_job job({.n_pes = 2, .user_bytes = 8 * mib});
  job.run([&](test_pe& self) {
    for (const std::size_t there : {1, 3})
      for (const std::size_t here : {1, 2})
        for (const std::size_t n :
             {std::size_t{1}, std::size_t{2}, std::size_t{100}, std::size_t{9001}}) {
          strided<std::uint8_t>(self, there, here, n);
          strided<three>(self, there, here, n);
          strided<std::uint32_t>(self, there, here, n);
          strided<double>(self, there, here, n);
          strided<most>(self, there, here, n);
        }
    strided<std::uint8_t>(self, 1, 2, 70'001);  // more than one record counts
  });
}

}  // namespace
}  // namespace heddle::testing
