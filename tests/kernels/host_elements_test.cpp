// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// What the host's collectives take as elements: every integer of C++ by its size, and, where
// nothing is combined, any trivially copyable type.

#include <doctest/doctest.h>

#include <cstddef>
#include <heddle/heddle.hpp>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/on_device.hpp"

using namespace heddle;
using namespace heddle::testing;

namespace {

struct pixel {
  unsigned char red, green, blue;
  bool operator==(const pixel&) const = default;
};
struct particle {
  double place[2];
  int index;
  bool is_alive;
  bool operator==(const particle&) const = default;
};

template <class T>
T element_of(int pe, std::size_t i) {
  const int n = 7 * pe + static_cast<int>(i);
  const auto low = static_cast<unsigned char>(n);
  if constexpr (std::is_same_v<T, pixel>)
    return {low, static_cast<unsigned char>(pe), 3};
  else if constexpr (std::is_same_v<T, particle>)
    return {{n + 0.5, -n * 1.0}, n, n % 2 == 0};
  else if constexpr (std::is_same_v<T, std::byte>)
    return std::byte{low};
  else if constexpr (std::is_same_v<T, bool>)
    return n % 3 == 0;
  else
    return static_cast<T>(n % 100);
}

/// Elements of type T that the calls of one team move. (A vector of bool has none.)
template <class T>
class moves {
 public:
  moves(const team& team, std::size_t n)
      : team_(team),
        me_(team.my_pe()),
        n_pes_(team.n_pes()),
        n_(n),
        in_(new T[all() + 1]),
        out_(new T[all() + 1]) {}

  void run() {
    const int root = n_pes_ - 1;
    const auto mine = [&](int, std::size_t i) { return element_of<T>(me_, i); };
    move("broadcast", n_, mine, [&] { team_.broadcast(in(), out(), n_, root); });
    expect("broadcast", n_, [&](int, std::size_t i) { return element_of<T>(root, i); });
    move("all_gather", n_, mine, [&] { team_.all_gather(in(), out(), n_); });
    expect("all_gather", all(), element_of<T>);
    move("gather", n_, mine, [&] { team_.gather(in(), out(), n_, root); });
    if (me_ == root) expect("gather", all(), element_of<T>);
    const auto to_each = [&](int pe, std::size_t i) { return element_of<T>(me_ + 2 * pe, i); };
    move("scatter", all(), to_each, [&] { team_.scatter(in(), out(), n_, root); });
    expect("scatter", n_, [&](int, std::size_t i) { return element_of<T>(root + 2 * me_, i); });
    const auto from_each = [&](int pe, std::size_t i) { return element_of<T>(pe + 2 * me_, i); };
    move("all_to_all", all(), to_each, [&] { team_.all_to_all(in(), out(), n_); });
    expect("all_to_all", all(), from_each);

    std::vector<std::size_t> counts(static_cast<std::size_t>(n_pes_), n_);
    std::vector<std::size_t> places;
    for (int pe = 0; pe < n_pes_; ++pe) places.push_back(static_cast<std::size_t>(pe) * n_);
    move("all_gather_v", n_, mine, [&] { team_.all_gather_v(in(), out(), counts, places); });
    expect("all_gather_v", all(), element_of<T>);
    move("all_to_all_v", all(), to_each,
         [&] { team_.all_to_all_v(in(), counts, places, out(), counts, places); });
    expect("all_to_all_v", all(), from_each);

    const int next = (me_ + 1) % n_pes_;
    const int previous = (me_ + n_pes_ - 1) % n_pes_;
    move("send and recv", n_, mine, [&] {
      grouped([&] {
        team_.send(in(), n_, next);
        team_.recv(out(), n_, previous);
      });
    });
    expect("send and recv", n_, [&](int, std::size_t i) { return element_of<T>(previous, i); });
  }

 private:
  [[nodiscard]] T* in() const { return in_.get(); }
  [[nodiscard]] T* out() const { return out_.get(); }
  [[nodiscard]] std::size_t all() const { return n_ * static_cast<std::size_t>(n_pes_); }

  template <class Make, class Call>
  void move(const char* what, std::size_t count, const Make& make, const Call& call) {
    for (std::size_t k = 0; k < count; ++k)
      in_[k] = make(n_ > 0 ? static_cast<int>(k / n_) : 0, n_ > 0 ? k % n_ : 0);
    behind_ = element_of<T>(91, 3);
    for (std::size_t k = 0; k <= all(); ++k) out_[k] = behind_;
    call();
    check(out_[all()] == behind_, std::string(what) + ": what is behind the output");
  }
  template <class Expected>
  void expect(const char* what, std::size_t count, const Expected& expected) const {
    std::size_t k = 0;
    while (k < count && out_[k] == expected(static_cast<int>(k / n_), k % n_)) ++k;
    check(k == count,
          std::string(what) + ": element " + std::to_string(k) + " of " + std::to_string(count));
  }

  const team& team_;
  int me_;
  int n_pes_;
  std::size_t n_;
  T behind_{};
  std::unique_ptr<T[]> in_;
  std::unique_ptr<T[]> out_;
};

template <class T>
void run_moves() {
  for (const int n_pes : pe_counts({1, 2, 3}))
    run_pes(n_pes, [](runtime& self) {
      for (const std::size_t n : {0, 1, 17, 5000}) moves<T>(self.world(), n).run();
    });
}

template <class T>
void run_all_reduce() {
  for (const int n_pes : pe_counts({1, 2, 3}))
    run_pes(n_pes, [](runtime& self) {
      const auto world = self.world();
      T in[2] = {static_cast<T>(world.my_pe() + 1), static_cast<T>(10 - world.my_pe())};
      T out[2];
      world.all_reduce(in, out, 2, op::sum);
      const int n = world.n_pes();
      check(out[0] == static_cast<T>(n * (n + 1) / 2), "the sum");
      world.all_reduce(in, out, 2, op::min);
      check(out[1] == static_cast<T>(11 - n), "the least");
    });
}

}  // namespace

TEST_CASE("integers that are none of <cstdint>'s are combined as those of their size") {
  run_all_reduce<long long>();
  run_all_reduce<unsigned long long>();
  run_all_reduce<long>();
  run_all_reduce<char>();
  run_all_reduce<char16_t>();
  static_assert(element_type<long long> == HEDDLE_INT64 &&
                element_type<unsigned char> == HEDDLE_UINT8);
  static_assert(!element<bool> && !element<pixel> && !element<std::byte> && !element<void*>);
}

TEST_CASE("what combines nothing moves elements of any trivially copyable type") {
  run_moves<long long>();
  run_moves<bool>();
  run_moves<std::byte>();
  run_moves<pixel>();
  run_moves<particle>();
}

TEST_CASE("more bytes than there can be are refused") {
  run_pes(1, [](runtime& self) {
    const auto world = self.world();
    particle one{};
    const auto most = static_cast<std::size_t>(-1);
    for (const std::size_t n : {most, most / sizeof(particle) + 1}) {
      CHECK_THROWS_AS(world.broadcast(&one, &one, n, 0), error);
      CHECK_THROWS_AS(world.send(&one, n, 0), error);
    }
  });
}
