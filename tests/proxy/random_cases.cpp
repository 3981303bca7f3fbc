// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// Operations by chance, against what a program without a network would hold.

#include <doctest/doctest.h>

#include <cstring>

#include "proxy_job.hpp"

namespace heddle::testing {
namespace {

constexpr std::size_t range = 256 << 10;  ///< of each PE's heap, that one other PE alone writes

/// Every PE owns a range of every other's heap: what is in there it alone decides, and knows.
class writer {
 public:
  writer(test_pe& self, int context)
      : self_(self),
        team_(self.team.context(context)),
        known_(static_cast<std::size_t>(self.n_pes), std::vector<std::byte>(range)),
        is_touched_(static_cast<std::size_t>(self.n_pes), std::vector<bool>(range)),
        source_(range) {
    fill(source_, self.random());
  }

  void step() {
    const int pe = static_cast<int>(self_.below(static_cast<std::size_t>(self_.n_pes)));
    constexpr std::size_t most[] = {8, 100, 700, 5000, 60'000};
    const std::size_t size =
        1 + self_.below(most[self_.below(100) < 92 ? self_.below(3) : self_.below(5)]);
    const std::size_t at = self_.below(range - size);
    const std::size_t from = self_.below(range - size);
    switch (self_.below(12)) {
      case 0:
      case 1:
      case 2:
        claim(pe, at, size);
        team_.put(one, place(at), &source_[from], size, pe);
        return keep(pe, at, &source_[from], size);
      case 3:
      case 4:
        claim(pe, at, size);
        team_.put_nbi(one, place(at), &source_[from], size, pe);
        return keep(pe, at, &source_[from], size);
      case 5: {
        const std::size_t word = at / 8 * 8;
        claim(pe, word, 8);
        const std::uint64_t value = self_.random();
        team_.p(reinterpret_cast<std::uint64_t*>(place(word)), value, pe);
        return keep(pe, word, &value, 8);
      }
      case 6: {  // what has been put is got after quiet alone
        team_.quiet();
        forget();
        std::vector<std::byte> got(size);
        team_.get(one, got.data(), place(at), size, pe);
        return expect(std::memcmp(got.data(), &known(pe)[at], size) == 0,
                      fmt::format("{} bytes got from {} of PE {}", size, at, pe));
      }
      case 7: {  // atomics of this PE alone: the value is known
        const std::size_t word = at / 8 * 8;
        claim(pe, word, 8);
        std::uint64_t before = 0;
        std::memcpy(&before, &known(pe)[word], 8);
        const std::uint64_t value = self_.random();
        auto* target = reinterpret_cast<std::uint64_t*>(place(word));
        team_.fence();
        std::uint64_t after = value;
        switch (self_.below(4)) {
          case 0:
            team_.atomic_add(target, value, pe);
            after = before + value;
            break;
          case 1:
            expect(team_.atomic_swap(target, value, pe) == before, "what a swap found");
            break;
          case 2:
            expect(team_.atomic_compare_swap(target, before, value, pe) == before,
                   "what a compare_swap found");
            break;
          default:
            expect(team_.atomic_fetch_xor(target, value, pe) == before, "what an xor found");
            after = before ^ value;
        }
        return keep(pe, word, &after, 8);
      }
      case 8: {
        const std::size_t word = at / 8 * 8, n = 1 + self_.below(20), stride = 1 + self_.below(4);
        if (word + n * stride * 8 > range) return;
        claim(pe, word, n * stride * 8);
        std::vector<std::uint64_t> values(n);
        for (std::size_t i = 0; i < n; ++i) {
          values[i] = self_.random();
          keep(pe, word + i * stride * 8, &values[i], 8);
        }
        team_.iput(one, reinterpret_cast<std::uint64_t*>(place(word)), values.data(), stride, 1, n,
                   pe);
        return;
      }
      case 9: {  // the signal of a put is one of its own words
        const std::size_t word = at / 8 * 8;
        if (word + 8 + size > range) return;
        claim(pe, word, 8 + size);
        const std::uint64_t value = self_.random();
        team_.put_signal(one, place(word + 8), &source_[from], size,
                         reinterpret_cast<std::uint64_t*>(place(word)), value, signal_op::set, pe);
        keep(pe, word, &value, 8);
        return keep(pe, word + 8, &source_[from], size);
      }
      case 10:
        team_.fence();
        return forget();
      default:
        if (self_.below(4) != 0) return;
        team_.quiet();
        return forget();
    }
  }
  [[nodiscard]] const std::vector<std::byte>& left_at(int pe) const {
    return known_[static_cast<std::size_t>(pe)];
  }
  void finish() {
    team_.quiet();
    forget();
  }

 private:
  std::byte* place(std::size_t at) const {
    return self_.user(static_cast<std::size_t>(self_.pe) * range + at);
  }
  std::vector<std::byte>& known(int pe) { return known_[static_cast<std::size_t>(pe)]; }
  /// Two puts to one place need a fence between them.
  void claim(int pe, std::size_t at, std::size_t size) {
    auto& touched = is_touched_[static_cast<std::size_t>(pe)];
    for (std::size_t i = at; i < at + size; ++i)
      if (touched[i]) {
        team_.fence();
        forget();
        break;
      }
    for (std::size_t i = at; i < at + size; ++i) touched[i] = true;
    any_ = true;
  }
  void forget() {
    if (!any_) return;
    for (auto& each : is_touched_) std::fill(each.begin(), each.end(), false);
    any_ = false;
  }
  void keep(int pe, std::size_t at, const void* bytes, std::size_t size) {
    std::memcpy(&known(pe)[at], bytes, size);
  }

  test_pe& self_;
  const team_ref team_;
  std::vector<std::vector<std::byte>> known_;
  std::vector<std::vector<bool>> is_touched_;
  std::vector<std::byte> source_;
  bool any_ = false;
};

void random_operations(int n_pes, int n) {
  proxy_job job({.n_pes = n_pes, .user_bytes = static_cast<std::size_t>(n_pes) * range});
  job.run([&](test_pe& self) {
    writer mine(self, self.pe % 2);
    for (int i = 0; i < n; ++i) mine.step();
    mine.finish();
    self.barrier();
    // Each asks for its ranges of all heaps.
    std::vector<std::byte> got(range);
    for (int pe = 0; pe < self.n_pes; ++pe) {
      self.team.get(one, got.data(), self.user(static_cast<std::size_t>(self.pe) * range), range,
                    pe);
      for (std::size_t i = 0; i < range; ++i)
        expect(got[i] == mine.left_at(pe)[i],
               fmt::format("byte {} of this PE's range of PE {}", i, pe));
    }
  });
}

TEST_CASE("operations by chance leave what they should") {
  random_operations(2, rounds(100'000));
  random_operations(3, rounds(20'000));
}

}  // namespace
}  // namespace heddle::testing
