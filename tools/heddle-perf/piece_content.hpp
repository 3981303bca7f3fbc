// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstring>

namespace perf {

/// What a PE sends to another in a call: it repeats with a prime period, and moves on from call to
/// call, so that what an earlier one left does not pass.
class piece_content {
 public:
  static constexpr std::size_t period = 8191;

  piece_content() {
    for (std::size_t i = 0; i < 2 * period; ++i)
      bytes_[i] = static_cast<unsigned char>(i % period * 131 + i % period / 7);
  }
  void fill(unsigned char* to, std::size_t n, int from, int target, int call) const {
    each_run(n, from, target, call,
             [&](std::size_t at, const unsigned char* what, std::size_t run) {
               std::memcpy(to + at, what, run);
             });
  }
  [[nodiscard]] std::size_t count_wrong(const unsigned char* got, std::size_t n, int from,
                                        int target, int call) const {
    std::size_t wrong = 0;
    each_run(n, from, target, call,
             [&](std::size_t at, const unsigned char* what, std::size_t run) {
               if (std::memcmp(got + at, what, run) != 0)
                 for (std::size_t i = 0; i < run; ++i) wrong += got[at + i] != what[i];
             });
    return wrong;
  }

 private:
  template <class Body>
  void each_run(std::size_t n, int from, int target, int call, Body body) const {
    const auto start =
        (static_cast<std::size_t>(call) * 977 + static_cast<std::size_t>(from) * 389 +
         static_cast<std::size_t>(target) * 61) %
        period;
    for (std::size_t at = 0; at < n; at += period)
      body(at, &bytes_[start], n - at < period ? n - at : period);
  }

  std::array<unsigned char, 2 * period> bytes_;
};

}  // namespace perf
