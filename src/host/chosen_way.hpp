// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <exception>
#include <string>

#include "coll/plan.hpp"

namespace heddle {

/// HEDDLE_CHECK=1: how one PE makes a call, as a word that the PEs compare: choosers, limits and
/// settings of their teams that are not alike show there. A PE that finds no way compares too,
/// before it fails, so that no other waits for it.
class chosen_way {
 public:
  static constexpr std::uint64_t none = ~std::uint64_t{0};

  static std::uint64_t word_of(algorithm algo, protocol proto, int channels, bool is_wide) {
    return (static_cast<std::uint64_t>(algo) + 1) | static_cast<std::uint64_t>(proto) << 8 |
           static_cast<std::uint64_t>(is_wide) << 16 | static_cast<std::uint64_t>(channels) << 32;
  }
  /// ", by ring simple of 1 channels"; nothing for 0, of calls without bytes.
  static std::string told(std::uint64_t word) {
    if (word == 0) return "";
    if (word == none) return ", and found no way for it";
    return fmt::format(
        ", by {} {} of {} channels{}", name_of(static_cast<algorithm>((word & 0xff) - 1)),
        name_of(static_cast<protocol>(word >> 8 & 0xff)), static_cast<std::uint32_t>(word >> 32),
        (word >> 16 & 1) != 0 ? ", in float32" : "");
  }

  /// `find()` gives the word.
  template <class Find>
  explicit chosen_way(const Find& find) {
    try {
      word_ = find();
    } catch (...) {
      wrong_ = std::current_exception();
    }
  }
  /// `compare(word)` throws where PEs differ. Throws what find() threw, if it did.
  template <class Compare>
  void require_same(const Compare& compare) const {
    if (!wrong_) return compare(word_);
    try {
      compare(word_);
    } catch (...) {
      // The others are told.
    }
    std::rethrow_exception(wrong_);
  }

 private:
  std::uint64_t word_ = none;
  std::exception_ptr wrong_;
};

}  // namespace heddle
