// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// Reductions of the user's own, of elements of any size, on the device that HEDDLE_DEVICE chooses
// (see kernels_test.cpp).

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <heddle/device_array.hpp>
#include <heddle/heddle.hpp>
#include <heddle/reduce_by.hpp>
#include <heddle/symmetric_array.hpp>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/on_device.hpp"

using namespace heddle;
using namespace heddle::testing;

namespace {

struct best {
  double value;
  std::int64_t index;

  static best of(int pe, std::size_t i) {
    return {static_cast<double>((pe * 5 + static_cast<int>(i % 1000)) % 7), pe};
  }
  bool operator==(const best&) const = default;
};
struct argmax {
  template <class A>
  HEDDLE_FN A combine(A a, A b) const {
    const bool second = b.value > a.value || (!(a.value > b.value) && b.index < a.index);
    return second ? b : a;
  }
};

template <class Word, int N>
struct row {
  Word word[N];

  static row of(int pe, std::size_t i) {
    row made;
    for (int k = 0; k < N; ++k)
      made.word[k] = static_cast<Word>((pe + 1) * (k + static_cast<int>(i % 1000)));
    return made;
  }
  bool operator==(const row&) const = default;
};
struct sum_of_rows {
  template <class Word, int N>
  HEDDLE_FN row<Word, N> combine(row<Word, N> a, const row<Word, N>& b) const {
    for (int k = 0; k < N; ++k) a.word[k] = static_cast<Word>(a.word[k] + b.word[k]);
    return a;
  }
};

/// That may be given nothing but elements: 0 has no common multiple with 0.
struct least_common_multiple {
  template <class A>
  HEDDLE_FN A combine(A a, A b) const {
    A divisor = a;
    for (A rest = b; rest != 0;) {
      const A next = static_cast<A>(divisor % rest);
      divisor = rest;
      rest = next;
    }
    return static_cast<A>(a / divisor * b);
  }
  template <class A>
  HEDDLE_FN A finish(A multiple) const {
    return static_cast<A>(60 / multiple);
  }
};

/// With something to do at the end, and sums that are rounded: these tell in which order the PEs'
/// elements were combined.
struct mean {
  template <class A>
  HEDDLE_FN A combine(A a, A b) const {
    return a + b;
  }
  template <class A>
  HEDDLE_FN A finish(A sum) const {
    return sum / n_pes;
  }
  float n_pes;
};

template <class T>
T element_of(int pe, std::size_t i) {
  if constexpr (std::is_same_v<T, float>) {
    return std::ldexp(1 + static_cast<float>(i % 1000) / 3, (pe * 7 + static_cast<int>(i)) % 13) *
           (pe % 2 == 0 ? 1.0f : -1.0f);
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(1 + (static_cast<std::size_t>(pe) + i) % 6);  // divisors of 60
  } else {
    return T::of(pe, i);
  }
}

/// All that combine, of n elements.
template <class T, class Op>
void expect_reductions(runtime& self, T* in, T* out, std::size_t n, const Op& op) {
  const auto world = self.world();
  const auto queue = self.create_stream();
  const int n_pes = self.n_pes();
  std::vector<T> mine;
  for (std::size_t i = 0; i < static_cast<std::size_t>(n_pes) * n; ++i)
    mine.push_back(element_of<T>(self.my_pe(), i));
  write(queue, in, mine);
  const auto expect = [&](std::size_t first, const char* what) {
    const auto got = read(queue, out, n);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < n; ++i) {
      T all = element_of<T>(0, first + i);
      for (int pe = 1; pe < n_pes; ++pe) all = op.combine(all, element_of<T>(pe, first + i));
      if constexpr (requires { op.finish(all); }) all = op.finish(all);
      wrong += got[i] != all;
    }
    check(wrong == 0, std::string(what) + " of " + std::to_string(n) + " elements of " +
                          std::to_string(sizeof(T)) + " bytes on " + std::to_string(n_pes) +
                          " PEs: " + std::to_string(wrong) + " wrong");
  };
  all_reduce_by(world, in, out, n, op, queue);
  expect(0, "all_reduce_by");
  reduce_scatter_by(world, in, out, n, op, queue);
  expect(static_cast<std::size_t>(self.my_pe()) * n, "reduce_scatter_by");
  reduce_by(world, in, out, n, op, n_pes - 1, queue);
  if (self.my_pe() == n_pes - 1) expect(0, "reduce_by");
  all_reduce_by(world, in, in, n, op, queue);
  queue.copy(out, in, n);
  expect(0, "all_reduce_by in place");
}

/// Numbers that go in one hop, in two, and in several pieces, from memory of each kind.
template <class T, class Op>
void expect_reductions_of(runtime& self, std::size_t most_bytes, const Op& op = {}) {
  const auto pieces = static_cast<std::size_t>(self.n_pes()) + 1;
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{9}, 3'001 / sizeof(T) + 1,
                              less_if_cut_short(most_bytes) / sizeof(T) + 1}) {
    const device_array<T> own(self, pieces * std::max<std::size_t>(n, 1));
    expect_reductions<T, Op>(self, own.data(), own.data() + (pieces - 1) * n, n, op);
    const symmetric_array<T> symmetric(self, pieces * std::max<std::size_t>(n, 1));
    expect_reductions<T, Op>(self, symmetric.data(), symmetric.data() + (pieces - 1) * n, n, op);
  }
}

}  // namespace

TEST_CASE("elements of every size are combined") {
  for (const int n_pes : fewer_if_cut_short({1, 2, 3}))
    run_pes(n_pes, [](runtime& self) {
      constexpr std::size_t most = 600'000;
      expect_reductions_of<best, argmax>(self, most);
      expect_reductions_of<row<std::uint8_t, 3>, sum_of_rows>(self, most);
      expect_reductions_of<row<double, 3>, sum_of_rows>(self, most);
      expect_reductions_of<row<std::uint32_t, 25>, sum_of_rows>(self, most);
      expect_reductions_of<row<std::uint32_t, 256>, sum_of_rows>(self, most);
    });
}

TEST_CASE("numbers are combined by what the user has, in the order of the PEs, and finished once") {
  for (const int n_pes : fewer_if_cut_short({1, 2, 3, 5}))
    run_pes(n_pes, [](runtime& self) {
      expect_reductions_of<float>(self, 600'000, mean{static_cast<float>(self.n_pes())});
    });
}

TEST_CASE("a reduction is given elements, and nothing that fills up words and lines") {
  constexpr std::size_t most = 3'000;
  for (const int n_pes : fewer_if_cut_short({1, 2, 3, 5}))
    run_pes(n_pes, [](runtime& self) {
      expect_reductions_of<std::uint8_t, least_common_multiple>(self, most);
      expect_reductions_of<std::uint16_t, least_common_multiple>(self, most);
      expect_reductions_of<std::uint32_t, least_common_multiple>(self, most);
    });
  if (on_gpu() || is_cut_short()) return;
  run_many_pes(66, [](runtime& self) {
    expect_reductions_of<std::uint8_t, least_common_multiple>(self, most);
  });
}

TEST_CASE("elements of every size are combined along the ring of a large team") {
  if (on_gpu() || is_cut_short()) return;  // teams of fewer take no ring here
  run_many_pes(66, [](runtime& self) {
    expect_reductions_of<row<std::uint32_t, 25>, sum_of_rows>(self, 70'000);
  });
}

TEST_CASE("a ring's full slots hold elements of which a line has no whole number") {
  if (on_gpu() || is_cut_short()) return;
  using element = row<std::uint32_t, 3>;
  run_many_pes(66, [](runtime& self) {
    constexpr std::size_t n = 400'000;  // a round of 66 slots of 64 KiB, and some
    std::vector<element> in(n);
    std::vector<element> out(n);
    for (std::size_t i = 0; i < n; ++i)
      in[i] = {{static_cast<std::uint32_t>(self.my_pe()), static_cast<std::uint32_t>(i), 1}};
    all_reduce_by(self.world(), in.data(), out.data(), n, sum_of_rows{});
    std::size_t i = 0;
    while (i < n && out[i] == element{{66 * 65 / 2, 66 * static_cast<std::uint32_t>(i), 66}}) ++i;
    check(i == n, "element " + std::to_string(i) + " of " + std::to_string(n));
  });
}
