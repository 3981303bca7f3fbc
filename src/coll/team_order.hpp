// SPDX-FileCopyrightText: 2026 The heddle developers
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace heddle {

/// The order of a team's PEs along rings and trees: host by host, however the launcher has numbered
/// them, so that a ring crosses between two hosts as often as there are hosts.
class team_order {
 public:
  /// That of the team.
  team_order() = default;
  /// `pes`: all of them, by position.
  explicit team_order(std::vector<std::int32_t> pes)
      : pes_(std::move(pes)), positions_(pes_.size()) {
    for (std::size_t i = 0; i < pes_.size(); ++i)
      positions_[static_cast<std::size_t>(pes_[i])] = static_cast<std::int32_t>(i);
    if (std::is_sorted(pes_.begin(), pes_.end())) pes_.clear();
  }

  /// -1 for -1, which is none.
  [[nodiscard]] int pe(int position) const {
    return position < 0 || pes_.empty() ? position : pes_[static_cast<std::size_t>(position)];
  }
  [[nodiscard]] int position(int pe) const {
    return pes_.empty() ? pe : positions_[static_cast<std::size_t>(pe)];
  }
  /// By position; none where that is the PE.
  [[nodiscard]] const std::vector<std::int32_t>& pes() const { return pes_; }

 private:
  std::vector<std::int32_t> pes_;
  std::vector<std::int32_t> positions_;
};

}  // namespace heddle
