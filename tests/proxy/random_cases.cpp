// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0

// Operations by chance, against what a program without a network would hold.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include "proxy_job.hpp"

namespace heddle::testing {
namespace {

constexpr std::uint64_t unread = 0x5555555555555555;
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
      case 6:
        return get_back(pe, at, size);
      case 7:
        return self_.below(2) == 0 ? update<std::uint64_t>(pe, at) : update<std::uint32_t>(pe, at);
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
  /// What has been put is got after quiet alone: in one way of four.
  void get_back(int pe, std::size_t at, std::size_t size) {
    team_.quiet();
    forget();
    switch (self_.below(4)) {
      case 0: {
        std::vector<std::byte> got(size);
        team_.get(one, got.data(), place(at), size, pe);
        return expect_known(got.data(), pe, at, size, "get");
      }
      case 1: {  // in pieces
        std::vector<std::byte> got(size);
        const std::size_t piece = 1 + self_.below(size);
        for (std::size_t i = 0; i < size; i += piece)
          team_.get_nbi(one, &got[i], place(at + i), std::min(piece, size - i), pe);
        team_.quiet();
        return expect_known(got.data(), pe, at, size, "get_nbi");
      }
      case 2: {
        const std::size_t there = 1 + self_.below(4), here = 1 + self_.below(3);
        const std::size_t word = at / 8 * 8;
        const std::size_t n = std::min(1 + self_.below(20), (range - word) / (there * 8));
        std::vector<std::uint64_t> got(n * here, unread);
        team_.iget(one, got.data(), reinterpret_cast<const std::uint64_t*>(place(word)), here,
                   there, n, pe);
        for (std::size_t i = 0; i < got.size(); ++i)
          if (i % here == 0)
            expect_known(&got[i], pe, word + i / here * there * 8, 8, "iget");
          else
            expect(got[i] == unread, "an iget wrote between its elements");
        return;
      }
      default: {
        const auto got = team_.g(reinterpret_cast<const std::uint16_t*>(place(at / 2 * 2)), pe);
        return expect_known(&got, pe, at / 2 * 2, sizeof got, "g");
      }
    }
  }

  /// Atomics of this PE alone: the value is known.
  template <class Word>
  void update(int pe, std::size_t at) {
    at = at / sizeof(Word) * sizeof(Word);
    claim(pe, at, sizeof(Word));
    Word before = 0;
    std::memcpy(&before, &known(pe)[at], sizeof before);
    const auto value = static_cast<Word>(self_.random());
    auto* target = reinterpret_cast<Word*>(place(at));
    team_.fence();
    Word after = before;
    Word found = before;
    const auto kind = self_.below(15);
    switch (kind) {
      case 0:
        team_.atomic_set(target, after = value, pe);
        break;
      case 1:
        team_.atomic_add(target, value, pe);
        after = before + value;
        break;
      case 2:
        team_.atomic_inc(target, pe);
        after = before + 1;
        break;
      case 3:
        team_.atomic_and(target, value, pe);
        after = before & value;
        break;
      case 4:
        team_.atomic_or(target, value, pe);
        after = before | value;
        break;
      case 5:
        team_.atomic_xor(target, value, pe);
        after = before ^ value;
        break;
      case 6:
        found = team_.atomic_fetch(target, pe);
        break;
      case 7:
        found = team_.atomic_swap(target, after = value, pe);
        break;
      case 8:
        found = team_.atomic_compare_swap(target, before, after = value, pe);
        break;
      case 9:  // of a value that is not there
        found = team_.atomic_compare_swap(target, static_cast<Word>(~before), value, pe);
        break;
      case 10:
        found = team_.atomic_fetch_add(target, value, pe);
        after = before + value;
        break;
      case 11:
        found = team_.atomic_fetch_inc(target, pe);
        after = before + 1;
        break;
      case 12:
        found = team_.atomic_fetch_and(target, value, pe);
        after = before & value;
        break;
      case 13:
        found = team_.atomic_fetch_or(target, value, pe);
        after = before | value;
        break;
      default:
        found = team_.atomic_fetch_xor(target, value, pe);
        after = before ^ value;
    }
    expect(found == before, fmt::format("atomic {} of {} bytes at {} of PE {} found {}, not {}",
                                        kind, sizeof(Word), at, pe, found, before));
    keep(pe, at, &after, sizeof after);
  }

  void expect_known(const void* got, int pe, std::size_t at, std::size_t size, const char* how) {
    expect(std::memcmp(got, &known(pe)[at], size) == 0,
           fmt::format("{} bytes from {} of PE {}, by {}", size, at, pe, how));
  }

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
