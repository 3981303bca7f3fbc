// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

#include "session.hpp"

namespace perf {

/// Bytes behind what calls may write, which must stay as they are: all there is of a size of 0.
class guard {
 public:
  static constexpr std::size_t bytes = 64;

  guard(const session& with, unsigned char* at) : with_(with), at_(at) {
    with.write(at, bytes, [](unsigned char* to) { std::fill_n(to, bytes, content); });
  }

  [[nodiscard]] std::size_t count_wrong() const {
    return with_.read(at_, bytes, [](const unsigned char* found) {
      return bytes - static_cast<std::size_t>(std::count(found, found + bytes, content));
    });
  }

 private:
  static constexpr unsigned char content = 0xa5;

  const session& with_;
  unsigned char* at_;
};

}  // namespace perf
