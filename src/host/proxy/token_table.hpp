// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle {

/// Things that the network knows by a token, which is not given again for 2^32 times: one that
/// comes back late finds nothing.
template <class Thing>
class token_table {
 public:
  using token = std::uint64_t;

  /// Never 0. `generation`: of the first tokens.
  explicit token_table(std::uint32_t generation = 0) : first_(generation) {}

  token add(Thing what) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(slots_.size()));
      slots_.push_back({.what = {}, .generation = first_, .is_used = false});
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    slot& taken = slots_[index];
    taken.what = what;
    taken.is_used = true;
    if (++taken.generation == 0) ++taken.generation;
    return std::uint64_t{taken.generation} << 32 | index;
  }
  /// Null if there is none. Valid until the next add().
  Thing* find(token which) {
    const auto index = static_cast<std::uint32_t>(which);
    if (index >= slots_.size()) return nullptr;
    slot& found = slots_[index];
    return found.is_used && found.generation == which >> 32 ? &found.what : nullptr;
  }
  void remove(token which) {
    const auto index = static_cast<std::uint32_t>(which);
    slots_[index].is_used = false;
    free_.push_back(index);
  }
  template <class Visit>
  void for_each(Visit visit) {
    for (std::size_t i = 0; i < slots_.size(); ++i)
      if (slots_[i].is_used) visit(std::uint64_t{slots_[i].generation} << 32 | i, slots_[i].what);
  }

 private:
  struct slot {
    Thing what{};
    std::uint32_t generation = 0;
    bool is_used = false;
  };
  std::uint32_t first_;
  std::vector<slot> slots_;
  std::vector<std::uint32_t> free_;
};

}  // namespace heddle
